import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Random } from '../seeded.ts'
import type { SinkAnswer, SinkMoment } from '../servers/smtp-sink.ts'
import { turnClock } from '../turned-clock.ts'
import { type Bed, restartDatabase } from './bed.ts'
import { DO_BOOK_FAULTS } from './do-book-fault.ts'
import { DO_GRAPH_FAULTS } from './do-graph-fault.ts'
import type { FaultKind, PlannedFault } from './fault-plan.ts'
import type { History } from './history.ts'
import type { ProcessSlot } from './processes.ts'
import type { Stores } from './stores.ts'
import { withLink, withNewLinks } from './with-link.ts'

const CLOCK_AHEAD = '2 hours'
const SLOW_MILLISECONDS = 300
const SHORT_BYTES = [200, 20_000] as const
const RUDE_SHARE = 0.3

export interface Doing {
  bed: Bed
  slot: ProcessSlot
  random: Random
  /** Waits for as long as the fault lasts. */
  last: () => Promise<unknown>
}

const FAULTS: Record<FaultKind, (doing: Doing) => Promise<unknown>> = {
  ...DO_BOOK_FAULTS,
  ...DO_GRAPH_FAULTS,
  async kill_process({ slot, last }) {
    await slot.kill()
    await last()
    await slot.start()
  },
  async stop_process({ slot, last }) {
    slot.stop()
    await last()
    slot.resume()
  },
  restart_process: ({ slot }) => slot.roll(),
  cut_database: ({ slot, last }) => withLink(slot.databaseProxy, { stalled: 'both' }, last),
  cut_database_one_way: ({ slot, last, random }) =>
    withLink(slot.databaseProxy, { stalled: random.pick(['to_server', 'to_client'] as const) }, last),
  database_fast: doing => restart(doing, () => doing.bed.databases.primary.stop('fast')),
  database_immediate: doing => restart(doing, () => doing.bed.databases.primary.stop('immediate')),
  database_kill: doing => restart(doing, () => doing.bed.databases.primary.kill()),
  async database_stopped({ bed, last }) {
    await bed.databases.primary.freeze()
    await last()
    await bed.databases.primary.thaw()
  },
  async database_slow({ bed, last }) {
    await setCommitDelay(bed, 100_000)
    await last()
    await setCommitDelay(bed, 0)
  },
  async database_failover({ bed, last }) {
    await bed.databases.failOver()
    await last()
    await bed.databases.addStandby()
  },
  async clock_ahead({ bed, last }) {
    await turnClock(bed.database.db, CLOCK_AHEAD)
    await last()
    await turnClock(bed.database.db, '0')
  },
  imap_cut: async ({ bed }) => bed.imapProxy.cutAll(),
  imap_stalled: ({ bed, last }) => withLink(bed.imapProxy, { stalled: 'both' }, last),
  imap_one_way: ({ bed, last }) => withLink(bed.imapProxy, { stalled: 'to_client' }, last),
  imap_slow: ({ bed, last }) => withLink(bed.imapProxy, { latencyMs: SLOW_MILLISECONDS }, last),
  imap_short: ({ bed, last, random }) =>
    withNewLinks(bed.imapProxy, { cutAfterBytes: random.between(...SHORT_BYTES) }, last),
  imap_silent: ({ bed, last }) => withNewLinks(bed.imapProxy, { isSilent: true }, last),
  smtp_cut: async ({ bed }) => bed.smtpProxy.cutAll(),
  smtp_stalled: ({ bed, last }) => withLink(bed.smtpProxy, { stalled: 'both' }, last),
  smtp_one_way: ({ bed, last }) => withLink(bed.smtpProxy, { stalled: 'to_client' }, last),
  async smtp_rude({ bed, last, random }) {
    bed.sink.behave = moment => (random.chance(RUDE_SHARE) ? beRude(moment, random) : null)
    await last()
    bed.sink.behave = () => null
  },
  async redis_stopped({ bed, last }) {
    const stores = requireStores(bed)
    stores.signalRedis('SIGSTOP')
    await last()
    stores.signalRedis('SIGCONT')
  },
  async redis_killed({ bed, last }) {
    const stores = requireStores(bed)
    stores.signalRedis('SIGKILL')
    await last()
    await stores.restartRedis()
  },
  redis_slow: ({ bed, last }) =>
    withLink(requireStores(bed).redisProxy, { latencyMs: SLOW_MILLISECONDS }, last),
  redis_one_way: ({ bed, last }) => withLink(requireStores(bed).redisProxy, { stalled: 'to_client' }, last),
  redis_cut: async ({ bed }) => requireStores(bed).redisProxy.cutAll(),
  redis_flushed: ({ bed }) => requireStores(bed).flushRedis(),
  async s3_failing({ bed, last }) {
    const { s3 } = requireStores(bed)
    s3.faults = [{ answer: { status: 500, code: 'InternalError' } }]
    await last()
    s3.faults = []
  },
  s3_stalled: ({ bed, last }) => withLink(requireStores(bed).s3Proxy, { stalled: 'both' }, last),
  s3_slow: ({ bed, last }) => withLink(requireStores(bed).s3Proxy, { latencyMs: SLOW_MILLISECONDS }, last),
  s3_short: ({ bed, last, random }) =>
    withNewLinks(requireStores(bed).s3Proxy, { cutAfterBytes: random.between(...SHORT_BYTES) }, last),
  s3_cut: async ({ bed }) => requireStores(bed).s3Proxy.cutAll(),
}

function requireStores({ stores }: Bed): Stores {
  if (!stores) throw new Error('This run has neither Redis nor S3')
  return stores
}

/** Does one fault and undoes it, and notes both. */
export async function doFault(
  bed: Bed,
  fault: PlannedFault,
  random: Random,
  history: History,
): Promise<void> {
  const { kind, seconds, process } = fault
  const slot = bed.slots[process ?? 0]
  if (!slot) throw new Error(`There is no process ${process}`)
  const name = process === null ? null : slot.processName
  const from = Date.now()
  await FAULTS[kind]({ bed, slot, random, last: () => sleep(seconds * 1_000) })
  history.add({ type: 'fault', kind, process: name, from, at: Date.now(), about: `${seconds.toFixed(1)} s` })
}

async function restart({ bed, last }: Doing, stop: () => Promise<void>): Promise<void> {
  await stop()
  await last()
  await restartDatabase(bed)
}

async function setCommitDelay({ database }: Bed, microseconds: number): Promise<void> {
  await sql.raw(`alter system set commit_delay = ${microseconds}`).execute(database.db)
  await sql.raw(`alter system set commit_siblings = 0`).execute(database.db)
  await sql`select pg_reload_conf()`.execute(database.db)
}

function beRude({ step }: SinkMoment, random: Random): SinkAnswer | null {
  if (step === 'mail') return '421 4.7.0 busy'
  if (step === 'rcpt') return '450 4.2.0 later'
  if (step === 'dot') return random.chance(0.7) ? { does: 'accept_and_drop' } : '554 5.7.1 no'
  if (step === 'connect') return { does: 'drop' }
  return null
}
