import type { Connections } from '../../../connections/connections.ts'
import type { Db } from '../../../database/pool.ts'
import type { NeededRole } from '../../../providers/changing.ts'
import type { AccountRow } from '../../accounts/accounts/account.ts'
import { reachedAs } from '../../accounts/accounts/rules.ts'
import type { ChangeUnit } from '../../context.ts'
import { lockMailAccount } from '../messages/record-account.ts'
import { recordCreatedMailbox } from './record-changes.ts'
import { findMailboxByRole, type ProviderMailbox, requireMailboxes } from './store.ts'

/** What is needed to create a mailbox that is missing. */
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
  account: AccountRow,
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
