/* SOEM by itself: all devices to SAFEOP, then their process data on every beat. Its sources are those that
   pysoem ships; its context is made here, as its own one leaves out a member. */
#include "../common/exchange.h"

#include "ethercat.h"

static char image[8192];
static int expected;

static ecx_portt port;
static ec_slavet slaves[EC_MAXSLAVE];
static int slave_count;
static ec_groupt groups[EC_MAXGROUP];
static uint8 esi[EC_MAXEEPBUF];
static uint32 esi_map[EC_MAXEEPBITMAP];
static ec_eringt errors;
static ec_idxstackT stack;
static boolean has_error;
static int64 dc_time;
static ec_SMcommtypet kinds[EC_MAX_MAPT];
static ec_PDOassignt assigned[EC_MAX_MAPT];
static ec_PDOdesct described[EC_MAX_MAPT];
static ec_eepromSMt managers;
static ec_eepromFMMUt fmmus;

static ecx_contextt context = {
    .port = &port, .slavelist = slaves, .slavecount = &slave_count, .maxslave = EC_MAXSLAVE,
    .grouplist = groups, .maxgroup = EC_MAXGROUP, .esibuf = esi, .esimap = esi_map, .elist = &errors,
    .idxstack = &stack, .ecaterror = &has_error, .DCtime = &dc_time, .SMcommtype = kinds,
    .PDOassign = assigned, .PDOdesc = described, .eepSM = &managers, .eepFMMU = &fmmus,
};

static int exchange(void) {
    ecx_send_processdata(&context);
    return ecx_receive_processdata(&context, EC_TIMEOUTRET) == expected;
}

int main(int argc, char **argv) {
    if (argc < 4) {
        fprintf(stderr, "usage: peer INTERFACE COUNT INTERVAL_NS\n");
        return 2;
    }
    if (!ecx_init(&context, argv[1]) || ecx_config_init(&context, FALSE) <= 0) {
        fprintf(stderr, "no SubDevice answers on %s\n", argv[1]);
        return 1;
    }
    ecx_config_map_group(&context, image, 0);
    ecx_statecheck(&context, 0, EC_STATE_SAFE_OP, EC_TIMEOUTSTATE * 4);
    expected = groups[0].outputsWKC * 2 + groups[0].inputsWKC;
    exchange_all(slave_count, atoll(argv[2]), atoll(argv[3]));
    ecx_close(&context);
    return 0;
}
