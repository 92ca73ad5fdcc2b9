import { accounts } from './accounts.ts'
import { autoconfig } from './autoconfig.ts'
import { changes } from './changes.ts'
import { mailboxes } from './mailboxes.ts'
import { messages } from './messages.ts'
import { search } from './search.ts'
import { settings } from './settings.ts'
import { threads } from './threads.ts'

/** Every operation of the service, by section. */
export const contract = { accounts, autoconfig, settings, mailboxes, messages, threads, search, changes }
