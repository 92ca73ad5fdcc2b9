import type { Ground } from '../world/world.ts'
import type { Accounts } from '../google/accounts.ts'
import type { Mailbox } from './mailbox/mailbox.ts'
import type { Pushes } from './pushes.ts'
import type { Quota } from './quota.ts'
import type { GmailSettings } from './settings.ts'
import type { Uploads } from './uploads.ts'

/** What the methods of the API work with. */
export interface GmailState {
  readonly ground: Ground & { accounts: Accounts }
  readonly settings: GmailSettings
  /** By address. */
  readonly mailboxes: Map<string, Mailbox>
  readonly quota: Quota
  readonly uploads: Uploads
  readonly pushes: Pushes
}
