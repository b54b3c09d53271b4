/* A plugin's view of the core: only through the table. */
#include "check.h"
#include "flambeau/plugin.h"
#include <math.h>
#include <string.h>

int main(void)
{
    const fb_core_api *core = fb_core_api_get(FB_PLUGIN_ABI);
    int64_t sizes[1] = {3};
    fb_tensor *x, *y, *in[2];

    CHECK(core && core->abi == FB_PLUGIN_ABI && core->size == sizeof *core);
    CHECK(!fb_core_api_get(FB_PLUGIN_ABI + 1) && strstr(fb_error_message(), "ABI"));
    core->error_clear();

    x = core->empty(1, sizes, FB_F32, (fb_device){FB_CPU, -1});
    CHECK(x && core->numel(x) == 3 && core->is_contiguous(x));
    for (int i = 0; i < 3; i++) ((float *)core->data(x))[i] = (float)i;
    in[0] = x;
    y = core->call("exp", 1, in, NULL);
    CHECK(y && core->dtype(y) == FB_F32);
    for (int i = 0; i < 3; i++) CHECK(fabsf(((float *)core->data(y))[i] - expf((float)i)) < 1e-5f);
    core->release(y);

    CHECK(!core->call("no_such_operator", 1, in, NULL) && core->error_kind() == FB_EVALUE);
    core->error_clear();
    CHECK(!core->call("exp", 2, in, NULL) && core->error_kind() == FB_EVALUE);
    core->error_clear();
    core->release(x);

    CHECK(fb_load_plugin("/no/such/plugin.so") == FB_FAIL && core->error_kind() == FB_ERUNTIME);
    core->error_clear();
    return check_end();
}
