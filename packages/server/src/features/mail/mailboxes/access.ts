import type { Connections } from '../../../connections/connections.ts'
import type { Db } from '../../../database/pool.ts'
import type { NeededRole } from '../../../providers/changing.ts'
import { reachedAs, type ReachedRow } from '../../../accounts/reach.ts'
import type { ChangeUnit } from '../../../calls/context.ts'
import { lockMailAccount } from '../messages/record-account.ts'
import { recordCreatedMailbox } from './record-changes.ts'
import { findMailboxByRole, listProviderMailboxes, type ProviderMailbox, requireMailboxes } from './store.ts'

/**
 * Finds the mailboxes that a change of messages names, by id; if one is a label, all mailboxes of the account. Refuses
 * with `unknown_mailbox`.
 */
export async function requireNamed(
  { db }: { db: Db },
  accountId: string,
  mailboxIds: readonly string[],
): Promise<Map<string, ProviderMailbox>> {
  const named = await requireMailboxes(db, accountId, mailboxIds)
  if (![...named.values()].some(({ kind }) => kind === 'label')) return named
  return new Map([
    ...(await listProviderMailboxes(db, accountId)).map(row => [row.id, row] as const),
    ...named,
  ])
}

/** Dependencies of creating a missing mailbox. */
export interface NeedingContext {
  db: Db
  connections: Connections
  /** Commits the new mailbox. */
  step<T>(work: (unit: ChangeUnit) => Promise<T>): Promise<T>
}

/**
 * The account's mailbox with this role. If there is none, it is created at the provider, recorded and announced. Throws
 * `ProviderFailure`.
 */
export async function requireMailboxByRole(
  { db, connections, step }: NeedingContext,
  account: ReachedRow,
  role: NeededRole,
): Promise<ProviderMailbox> {
  const indexed = await findMailboxByRole(db, account.id, role)
  if (indexed) return indexed
  // Creating it again finds the one that an interrupted try created.
  const { mailbox } = await connections.use(
    reachedAs(account),
    'changing',
    provider => provider.requireMailbox(role),
    { isRepeatable: true },
  )
  return step(async unit => {
    const id = await recordCreatedMailbox(unit, await lockMailAccount(unit, account.id), mailbox)
    return (await requireMailboxes(unit.sql, account.id, [id])).get(id)!
  })
}
