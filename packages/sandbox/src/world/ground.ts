import type { CallLog } from './calls.ts'
import type { Clock } from './clock.ts'
import type { Faults } from './faults.ts'
import type { PostOffice } from './post-office.ts'
import type { Random } from './random.ts'

/** Parts of a world that all providers share. */
export interface Ground {
  /** Origin of each host, such as `http://127.0.0.1:8045` of `gmail.googleapis.com`. They outlast the world. */
  readonly origins: Readonly<Record<string, string>>
  readonly clock: Clock
  readonly random: Random
  readonly calls: CallLog
  readonly faults: Faults
  readonly post: PostOffice
}
