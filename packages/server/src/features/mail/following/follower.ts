import { Histogram } from 'prom-client'
import type { Db } from '../../../database/pool.ts'
import type { Logger } from '../../../kit/log.ts'
import { askingGauge } from '../../../kit/metrics.ts'
import { ProviderFailure } from '../../../providers/failure.ts'
import type { Follower } from '../../../sync/follower.ts'
import type { OwnedAccount } from '../../../accounts/halves/ownership.ts'
import { BulkRequest } from '../../../sync/bulk-permits.ts'
import { type Bodies, NO_BODIES } from './bodies.ts'
import { Doubts } from '../../../sync/doubts.ts'
import { followMail } from './follow-mail.ts'
import { LookTimes } from './look-times.ts'
import { countAllQuarantined } from './quarantine.ts'
import { TableStatistics } from './table-statistics.ts'
import { Verification } from './verification/verification.ts'
import { mailWeight } from './weight.ts'

export interface MailFollowerOptions {
  db: Db
  log: Logger
  /** Called for each account that this process begins to follow; by default no bodies are stored. */
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
  const notices = new Histogram({
    name: 'waxwing_notice_seconds',
    help: 'Time from when a provider reported a change of a watched mailbox until it was in the change feed',
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30],
    registers: [],
  })
  const observeNotice = (seconds: number) => notices.observe(seconds)
  return {
    kind: 'mail',
    begin(owned) {
      const bodies = storeBodies(owned)
      const remembered = {
        bulkRequest: new BulkRequest(owned.tenantId),
        doubts: new Doubts(),
        looks: new LookTimes(),
        verification: new Verification(),
      }
      return {
        follow({ connected, ...connection }) {
          const { mail } = connected
          if (!mail) throw new ProviderFailure('unsupported', 'The provider of this account offers no mail.')
          // Each change of the settings requests a new connection, so none is missed.
          bodies.wake()
          const shared = { db, statistics, observeNotice }
          return followMail({ ...connection, ...remembered, ...shared, bodies, provider: mail })
        },
        [Symbol.asyncDispose]: () => bodies[Symbol.asyncDispose](),
      }
    },
    weight: mailWeight,
    metrics: [
      notices,
      askingGauge(
        'waxwing_messages_quarantined',
        'Messages of the whole installation that could not be read and are tried again',
        () => countAllQuarantined(db),
      ),
    ],
    [Symbol.asyncDispose]: () => statistics[Symbol.asyncDispose](),
  }
}
