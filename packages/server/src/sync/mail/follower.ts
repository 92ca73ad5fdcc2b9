import type { Db } from '../../database/pool.ts'
import type { Logger } from '../../kit/log.ts'
import { askingGauge } from '../../kit/metrics.ts'
import { ProviderFailure } from '../../providers/failure.ts'
import type { Follower } from '../follower.ts'
import { Place } from '../turns.ts'
import { Doubts } from './doubts.ts'
import { followMail } from './follow-mail.ts'
import { LookTimes } from './look-times.ts'
import { countAllQuarantined } from './quarantine.ts'
import { TableStatistics } from './table-statistics.ts'
import { Verification } from './verification/verification.ts'

export interface MailFollowerOptions {
  db: Db
  log: Logger
  /** Called with the id of each account that has new mail, or whose first sync is complete. */
  onMail(accountId: string): void
  /** Called with the sources that came with messages of an account, by lasting id; never rejects. By default they are dropped. */
  keepSources?(account: { id: string; tenantId: string }, sources: ReadonlyMap<string, Buffer>): Promise<void>
}

/** Disposing it waits for a statement under way. */
export interface MailFollower extends Follower, AsyncDisposable {}

/** Follows the mail of accounts. */
export function openMailFollower({
  db,
  log,
  onMail,
  keepSources = () => Promise.resolve(),
}: MailFollowerOptions): MailFollower {
  const statistics = new TableStatistics(db, log)
  return {
    begin() {
      const remembered = {
        place: new Place(),
        doubts: new Doubts(),
        looks: new LookTimes(),
        verification: new Verification(),
      }
      return ({ connected, ...following }) => {
        const { mail } = connected
        if (!mail) throw new ProviderFailure('unsupported', 'The provider of this account offers no mail.')
        const hasMail = () => onMail(following.owned.id)
        const keep = (sources: ReadonlyMap<string, Buffer>) => keepSources(following.owned, sources)
        const calls = { onMail: hasMail, keepSources: keep }
        return followMail({ ...following, ...remembered, ...calls, db, provider: mail, statistics })
      }
    },
    gauges: [
      askingGauge(
        'waxwing_messages_quarantined',
        'Messages of the whole installation that could not be read and are tried again',
        () => countAllQuarantined(db),
      ),
    ],
    [Symbol.asyncDispose]: () => statistics[Symbol.asyncDispose](),
  }
}
