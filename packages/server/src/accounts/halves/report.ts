import { type Kysely, sql } from 'kysely'
import type { Tables } from '../../database/tables.ts'
import type { HalfKind } from './kind.ts'
import { isOwned, type OwnedAccount } from './ownership.ts'

export type RuntimeState = 'pending' | 'connecting' | 'syncing' | 'live' | 'backoff' | 'stopped'

/** Report of the follower of a half. */
export interface RuntimeReported {
  state: RuntimeState
  detail: string | null
  /** Whether the half is caught up, or has come further. */
  isSuccess: boolean
}

/**
 * Stores what the follower of an owned half is doing. A half that is known to differ from its provider is not `live`, and
 * one that is `stopped` since it is switched off is not behind.
 * @returns the state that was stored; null if the half is no longer owned
 */
export async function recordRuntime(
  db: Kysely<Tables>,
  owned: OwnedAccount,
  kind: HalfKind,
  { state, detail, isSuccess }: RuntimeReported,
): Promise<RuntimeState | null> {
  const { rows } = await sql<{ state: RuntimeState }>`
    update account_half set
      runtime_state = case when ${state} = 'live' and differs_since is not null then 'syncing' else ${state} end,
      runtime_detail = ${detail}, runtime_instance = ${owned.instanceId}, runtime_updated_at = clock_timestamp(),
      behind_since = case
        when ${state} = 'stopped' or (${state} = 'live' and differs_since is null) then null
        else coalesce(behind_since, clock_timestamp())
      end,
      failing_since = case
        when ${isSuccess} then null
        when ${state} = 'backoff' then coalesce(failing_since, clock_timestamp())
        else failing_since
      end,
      closed_since = case when not ${isSuccess} then closed_since end
    where ${isOwned(owned, kind)}
    returning runtime_state as state
  `.execute(db)
  return rows[0]?.state ?? null
}
