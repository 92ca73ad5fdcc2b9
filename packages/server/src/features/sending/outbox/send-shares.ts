/** Places of a process, each for one message that is being sent, and the number that one tenant may take. */
export const SENDS_AT_ONCE = 100
export const SENDS_PER_TENANT = 50
/** Places that only a tenant without one is given, so that tenants whose servers are slow do not keep out the others. */
export const RESERVED_PLACES = 30
/** A message hangs when its server has not answered this long after it was handed over. */
export const HANGS_AFTER_SECONDS = 10
/** Connections to one server, and for one account, that send at once. */
export const SENDS_PER_HOST = 10
export const SENDS_PER_ACCOUNT = 3

/** An account with messages that are due. */
export interface DueAccount {
  accountId: string
  tenantId: string
  /** Its server. */
  host: string
  /** Messages that are due now. */
  due: number
  /** Whether its server failed last, so that one message tries it before the others. */
  isDoubted: boolean
  /** Milliseconds since 1970 at which it last sent; less than 0: never. */
  servedAt: number
}

/** A message that is being sent. */
export interface RunningSend {
  tenantId: string
  accountId: string
  host: string
  /** Whether it was handed over, and its server takes long to answer. */
  isHanging: boolean
  /** Whether its connection serves others, since only the outcome is still to be written down. */
  isOver: boolean
}

/** Places and connections of the messages that are being sent now. */
export interface Running {
  /** Places by tenant, by account and in all. */
  tenants: ReadonlyMap<string, number>
  accounts: ReadonlyMap<string, number>
  total: number
  /** Connections by account and by host. */
  connected: ReadonlyMap<string, number>
  hosts: ReadonlyMap<string, number>
  /** Accounts with a message that hangs. */
  hanging: ReadonlySet<string>
}

/** Counts the used places. All messages of an account that hang take one place together. */
export function countRunning(sends: readonly RunningSend[]): Running {
  const hangs = new Map(sends.flatMap(send => (send.isHanging ? [[send.accountId, send]] : [])))
  const placed = [...sends.filter(({ isHanging }) => !isHanging), ...hangs.values()]
  const connected = sends.filter(({ isOver }) => !isOver)
  return {
    tenants: countBy(placed, ({ tenantId }) => tenantId),
    accounts: countBy(placed, ({ accountId }) => accountId),
    total: placed.length,
    connected: countBy(connected, ({ accountId }) => accountId),
    hosts: countBy(connected, ({ host }) => host),
    hanging: new Set(hangs.keys()),
  }
}

function countBy(sends: readonly RunningSend[], keyOf: (send: RunningSend) => string): Map<string, number> {
  const counts = new Map<string, number>()
  for (const send of sends) counts.set(keyOf(send), (counts.get(keyOf(send)) ?? 0) + 1)
  return counts
}

/**
 * Decides how many messages each account may send now. Tenants take turns, and so do the accounts of a tenant: first
 * the accounts with the fewest connections, then the ones that have waited longest. So accounts of one server keep
 * their connections, instead of closing each other's. No tenant, account or host gets more than its share, and the last
 * places go to tenants that have none, so slow servers of some tenants do not hold up the others. An account with a
 * message that hangs gets no other place.
 */
export function planShares(accounts: readonly DueAccount[], running: Running): Map<string, number> {
  const hosts = new Map(running.hosts)
  const shares = new Map(running.tenants)
  const planned = new Map<string, number>()
  let room = SENDS_AT_ONCE - running.total
  const mayTake = ({ accountId, tenantId, host, due, isDoubted }: DueAccount) => {
    const share = shares.get(tenantId) ?? 0
    if (share >= SENDS_PER_TENANT || (share > 0 && room <= RESERVED_PLACES)) return false
    if (running.hanging.has(accountId)) return false
    const taken = planned.get(accountId) ?? 0
    const own = (running.accounts.get(accountId) ?? 0) + taken
    return taken < due && own < (isDoubted ? 1 : SENDS_PER_ACCOUNT) && (hosts.get(host) ?? 0) < SENDS_PER_HOST
  }
  // Each tenant's accounts, in the order in which they come up next.
  const tenants = [
    ...Map.groupBy(
      accounts.toSorted((a, b) => a.servedAt - b.servedAt),
      account => account.tenantId,
    ).values(),
  ]
  const connectionsOf = ({ accountId }: DueAccount) =>
    (running.connected.get(accountId) ?? 0) + (planned.get(accountId) ?? 0)
  while (room > 0) {
    let isProgress = false
    for (const ofTenant of tenants) {
      if (room === 0) break
      const account = leastBy(ofTenant.filter(mayTake), connectionsOf)
      if (!account) continue
      planned.set(account.accountId, (planned.get(account.accountId) ?? 0) + 1)
      hosts.set(account.host, (hosts.get(account.host) ?? 0) + 1)
      shares.set(account.tenantId, (shares.get(account.tenantId) ?? 0) + 1)
      room--
      isProgress = true
    }
    if (!isProgress) break
  }
  return planned
}

/** The first of the items with the least value. */
function leastBy<T>(items: readonly T[], valueOf: (item: T) => number): T | null {
  let [least, value]: [T | null, number] = [null, Infinity]
  for (const item of items) {
    const own = valueOf(item)
    if (own < value) [least, value] = [item, own]
  }
  return least
}
