import type { Kysely } from 'kysely'
import type { ConnectionPermit } from '../../../connections/connections.ts'
import type { Tables } from '../../../database/tables.ts'
import type { Nudge } from '../../../processes/nudge.ts'
import type { Logger } from '../../../kit/log.ts'
import type { MailProvider } from '../../../providers/mail.ts'
import type { OwnedAccount } from '../../../accounts/halves/ownership.ts'
import type { Renewal } from '../../../sync/renewal.ts'
import type { RuntimeReport } from '../../../sync/report.ts'
import type { StallWatch } from '../../../sync/stall-watch.ts'
import type { BulkPermits, BulkRequest } from '../../../sync/bulk-permits.ts'
import type { Bodies } from './bodies.ts'
import type { Doubts } from '../../../sync/doubts.ts'
import type { LookTimes } from './look-times.ts'
import type { TableStatistics } from './table-statistics.ts'
import type { Verification } from './verification/verification.ts'

export interface FollowMailOptions {
  db: Kysely<Tables>
  owned: OwnedAccount
  provider: MailProvider
  isOneAtATime: boolean
  syncWindowDays: number | null
  stall: StallWatch
  permit: ConnectionPermit
  renewal: Renewal | null
  bulkPermits: BulkPermits
  bulkRequest: BulkRequest
  nudge: Nudge
  notice: Nudge
  report: RuntimeReport
  statistics: TableStatistics
  doubts: Doubts
  looks: LookTimes
  verification: Verification
  pollSeconds: number
  log: Logger
  onProgress(): void
  /** Called with the time from a notice to the commit of the announced change. */
  observeNotice(seconds: number): void
  bodies: Bodies
}
