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

/** Attempts that run now, by account and by host. */
export interface Running {
  accounts: ReadonlyMap<string, number>
  hosts: ReadonlyMap<string, number>
  total: number
}

/**
 * Decides how many messages each account may send now. Tenants take turns, and so do the accounts of a tenant, those
 * first that have waited longest. No account and no host gets more than its share.
 */
export function planTurns(
  accounts: readonly DueAccount[],
  running: Running,
  totalMax: number,
): Map<string, number> {
  const hosts = new Map(running.hosts)
  const planned = new Map<string, number>()
  let room = totalMax - running.total
  const mayTake = ({ accountId, host, due, isDoubted }: DueAccount) => {
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
  while (room > 0) {
    let isProgress = false
    for (const turns of tenants) {
      const index = turns.findIndex(mayTake)
      if (index === -1 || room === 0) continue
      const [account] = turns.splice(index, 1)
      if (!account) continue
      turns.push(account)
      planned.set(account.accountId, (planned.get(account.accountId) ?? 0) + 1)
      hosts.set(account.host, (hosts.get(account.host) ?? 0) + 1)
      room--
      isProgress = true
    }
    if (!isProgress) break
  }
  return planned
}
