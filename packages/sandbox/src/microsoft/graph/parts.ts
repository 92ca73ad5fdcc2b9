import type { Clock } from '../../world/clock.ts'
import type { PostOffice } from '../../world/post-office.ts'
import type { Random } from '../../world/random.ts'
import type { User } from '../../world/users.ts'
import type { Mailbox } from '../mailbox/mailbox.ts'
import type { GraphSettings } from './settings.ts'
import type { Writing } from './writing.ts'

/** Parts of Graph's mail that its methods use, besides the mailbox of the call. */
export interface GraphParts {
  readonly settings: GraphSettings
  readonly clock: Clock
  readonly random: Random
  readonly post: PostOffice
  readonly writing: Writing
  mailboxOf(user: Pick<User, 'email'>): Mailbox
}
