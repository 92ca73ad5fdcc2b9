import { CLOUDS } from '../../src/providers/microsoft/clouds.ts'
import type { Doing } from './do-fault.ts'
import type { GRAPH_FAULTS } from './fault-plan.ts'

/** Paths of calls that the service makes to Graph. Other clients, and the run itself, use other paths. */
const OF_SERVICE = ['/v1.0/users/*', '/v1.0/$batch', '/v1.0/subscriptions*']
const { graph: GRAPH, login: LOGIN } = CLOUDS.global
const RETRY_AFTER_SECONDS = 2
const SLOW_MILLISECONDS = 300
const QUIET_PUSHES = { drop: 0, copies: 1, delayMilliseconds: 0, missed: false, minutesMax: 10_080 }
const TOLD_CHANGES = {
  arrivals: 'told',
  repeats: 0,
  sparse: 0,
  generationsKept: null,
  notFoundAfterNotice: 0,
}

type GraphFault = (typeof GRAPH_FAULTS)[number]
type Do = (doing: Pick<Doing, 'bed' | 'random' | 'last'>) => Promise<unknown>

export const DO_GRAPH_FAULTS: Record<GraphFault, Do> = {
  graph_throttled: striking({ does: 'rate_limit', probability: 0.4 }),
  graph_throttled_until: striking({
    does: 'rate_limit',
    retryAfterSeconds: RETRY_AFTER_SECONDS,
    probability: 0.4,
  }),
  graph_failing: striking({ does: 'error', status: 503, probability: 0.5 }),
  graph_lost: striking({ does: 'lost', probability: 0.4 }),
  graph_torn: striking({ does: 'torn', probability: 0.4 }),
  graph_hanging: striking({ does: 'hang', probability: 0.3 }),
  graph_slow: striking({ does: 'slow', milliseconds: SLOW_MILLISECONDS, probability: 1 }),
  graph_token_refused: striking({ does: 'unauthorized', probability: 0.4 }),
  async graph_links_expired({ bed, last }) {
    const { sandbox } = bed.office
    const expire = async () => {
      for (const at of ['next', 'delta'] as const)
        await sandbox.control('POST', '/history/expire', { provider: 'microsoft', at })
    }
    await sandbox.control('PATCH', '/graph', { generationsKept: 1 })
    await expire()
    await last()
    await expire()
    await sandbox.control('PATCH', '/graph', TOLD_CHANGES)
  },
  async graph_changes_untold({ bed, random, last }) {
    const { sandbox } = bed.office
    const arrivals = random.pick(['lost', 'random'])
    const settings = { arrivals, repeats: 0.4, sparse: 0.5, notFoundAfterNotice: random.pick([0, 2]) }
    await sandbox.control('PATCH', '/graph', settings)
    await last()
    await sandbox.control('PATCH', '/graph', TOLD_CHANGES)
  },
  graph_pushes_lost: ({ bed, random, last }) =>
    withPushes(bed, { drop: random.pick([0.5, 1]), missed: random.chance(0.5) }, last),
  graph_pushes_doubled: ({ bed, random, last }) =>
    // The delay is longer than the time between two pushes, which so overtake each other.
    withPushes(bed, { copies: 2, delayMilliseconds: random.pick([0, 1_500]) }, last),
  async graph_subscriptions_removed({ bed, random }) {
    const event = random.pick(['subscriptionRemoved', 'reauthorizationRequired', 'missed'])
    await bed.office.sandbox.control('POST', '/subscriptions/events', { event })
  },
  async login_failing({ bed, last }) {
    const { sandbox } = bed.office
    const path = '/*/oauth2/v2.0/token'
    await sandbox.addFault({ does: 'lost', host: LOGIN, path, probability: 0.3 })
    await sandbox.addFault({ does: 'error', status: 503, host: LOGIN, path, probability: 0.5 })
    // Tokens that are refused have to be renewed there.
    await strike(bed, { does: 'unauthorized', probability: 0.2 })
    await last()
    await sandbox.clearFaults()
  },
}

/** A fault that strikes some calls of the service while it lasts. Only one is in force at a time. */
function striking(rule: object): Do {
  return async ({ bed, last }) => {
    await strike(bed, rule)
    await last()
    await bed.office.sandbox.clearFaults()
  }
}

async function strike({ office }: Doing['bed'], rule: object): Promise<void> {
  for (const path of OF_SERVICE) await office.sandbox.addFault({ ...rule, host: GRAPH, path })
}

async function withPushes({ office }: Doing['bed'], settings: object, last: Doing['last']): Promise<void> {
  const configure = (pushes: object) => office.sandbox.configurePushes({ provider: 'microsoft', ...pushes })
  await configure(settings)
  await last()
  await configure(QUIET_PUSHES)
}
