import type { PostOffice } from '../world/post-office.ts'
import type { Random } from '../world/random.ts'
import type { Pushes } from './pushes.ts'
import type { GmailSettings } from './settings.ts'

/** Parts of Gmail that the methods of its API use, besides the mailbox of the call. */
export interface GmailParts {
  readonly settings: GmailSettings
  readonly random: Random
  readonly pushes: Pushes
  readonly post: PostOffice
}
