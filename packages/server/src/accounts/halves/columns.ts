import { type RawBuilder, type Selectable, sql } from 'kysely'
import type { AccountHalfTable } from '../../database/tables.ts'
import type { HalfKind } from './kind.ts'
import type { RuntimeState } from './report.ts'

/** Columns of the half of mail, which each account has. */
export interface MailHalf extends Pick<
  Selectable<AccountHalfTable>,
  | 'initialized_at'
  | 'runtime_detail'
  | 'runtime_instance'
  | 'runtime_updated_at'
  | 'behind_since'
  | 'problem'
  | 'search_version'
  | 'stamp'
> {
  runtime_state: RuntimeState | null
}

/** The columns of `MailHalf`, in a query that joins the half. */
export const MAIL_HALF_COLUMNS = [
  'account_half.initialized_at',
  'account_half.runtime_state',
  'account_half.runtime_detail',
  'account_half.runtime_instance',
  'account_half.runtime_updated_at',
  'account_half.behind_since',
  'account_half.problem',
  'account_half.search_version',
  'account_half.stamp',
] as const

/** State of another half of an account, as it is shown. */
export interface OtherHalf {
  kind: Exclude<HalfKind, 'mail'>
  stamp: string
  /** A time in ISO 8601. */
  initializedAt: string | null
  problem: string | null
  detail: string | null
  isBehind: boolean
  isFailing: boolean
}

/** The other halves of an account as JSON; null if it has none. */
export const otherHalves: RawBuilder<OtherHalf[] | null> = sql`(
  select jsonb_agg(jsonb_build_object('kind', kind, 'stamp', stamp::text, 'initializedAt', initialized_at,
    'problem', problem, 'detail', runtime_detail, 'isBehind', behind_since is not null, 'isFailing', failing_since is not null) order by kind)
  from account_half as other where other.account_id = account.id and kind <> 'mail')`
