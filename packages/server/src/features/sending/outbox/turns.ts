/** Messages that are sent at once, of them those of one tenant. */
export const SENDS_AT_ONCE = 100
export const SENDS_PER_TENANT = 50
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

/** Attempts that run now, by tenant, account and host. */
export interface Running {
  tenants: ReadonlyMap<string, number>
  accounts: ReadonlyMap<string, number>
  /** Attempts that still use their connection, by account. */
  connected: ReadonlyMap<string, number>
  hosts: ReadonlyMap<string, number>
  total: number
}

/**
 * Decides how many messages each account may send now. Tenants take turns, and so do the accounts of a tenant: those
 * first that use the fewest connections, then those that have waited longest. So accounts of one server keep their
 * connections, instead of closing each other's. No tenant, account or host gets more than its share, so slow servers of
 * one tenant do not hold up the others.
 */
export function planTurns(
  accounts: readonly DueAccount[],
  running: Running,
  totalMax: number,
): Map<string, number> {
  const hosts = new Map(running.hosts)
  const shares = new Map(running.tenants)
  const planned = new Map<string, number>()
  let room = totalMax - running.total
  const mayTake = ({ accountId, tenantId, host, due, isDoubted }: DueAccount) => {
    if ((shares.get(tenantId) ?? 0) >= SENDS_PER_TENANT) return false
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
    for (const turns of tenants) {
      if (room === 0) break
      const account = leastBy(turns.filter(mayTake), connectionsOf)
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

/** The first of those with the least value. */
function leastBy<T>(items: readonly T[], valueOf: (item: T) => number): T | null {
  let [least, value]: [T | null, number] = [null, Infinity]
  for (const item of items) {
    const own = valueOf(item)
    if (own < value) [least, value] = [item, own]
  }
  return least
}
