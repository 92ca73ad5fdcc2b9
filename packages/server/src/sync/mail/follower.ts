import type { Db } from '../../database/pool.ts'
import type { Logger } from '../../kit/log.ts'
import { askingGauge } from '../../kit/metrics.ts'
import { ProviderFailure } from '../../providers/failure.ts'
import type { Follower } from '../follower.ts'
import type { OwnedAccount } from '../ownership.ts'
import { Place } from '../turns.ts'
import { type Bodies, NO_BODIES } from './bodies.ts'
import { Doubts } from './doubts.ts'
import { followMail } from './follow-mail.ts'
import { LookTimes } from './look-times.ts'
import { countAllQuarantined } from './quarantine.ts'
import { TableStatistics } from './table-statistics.ts'
import { Verification } from './verification/verification.ts'

export interface MailFollowerOptions {
  db: Db
  log: Logger
  /** Called for each account that this process begins to follow; by default nobody stores bodies. */
  storeBodies?(owned: OwnedAccount): Bodies
}

/** Disposing it waits for a statement under way. */
export interface MailFollower extends Follower, AsyncDisposable {}

/** Follows the mail of accounts. */
export function openMailFollower({
  db,
  log,
  storeBodies = () => NO_BODIES,
}: MailFollowerOptions): MailFollower {
  const statistics = new TableStatistics(db, log)
  return {
    begin(owned) {
      const bodies = storeBodies(owned)
      const remembered = {
        place: new Place(owned.tenantId),
        doubts: new Doubts(),
        looks: new LookTimes(),
        verification: new Verification(),
      }
      return {
        follow({ connected, ...following }) {
          const { mail } = connected
          if (!mail) throw new ProviderFailure('unsupported', 'The provider of this account offers no mail.')
          // Whoever changes the settings asks for a new connection, so no change of them is missed.
          bodies.wake()
          return followMail({ ...following, ...remembered, bodies, db, provider: mail, statistics })
        },
        [Symbol.asyncDispose]: () => bodies[Symbol.asyncDispose](),
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
