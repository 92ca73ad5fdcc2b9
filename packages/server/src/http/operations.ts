import { implement } from '@orpc/server'
import { contract } from '@waxwing/contract/contract.ts'
import { accountOperations } from '../features/accounts/accounts/operations.ts'
import { autoconfigOperations } from '../features/accounts/autoconfig/operations.ts'
import { changeOperations } from '../features/notifications/changes/operations.ts'
import type { RequestContext } from '../features/context.ts'
import { mailboxOperations } from '../features/mail/mailboxes/operations.ts'
import { contentOperations } from '../features/mail/content/operations.ts'
import { messageOperations } from '../features/mail/messages/operations.ts'
import { searchOperations } from '../features/mail/search/operations.ts'
import { settingOperations } from '../features/accounts/settings/operations.ts'
import { threadOperations } from '../features/mail/threads/operations.ts'

/** Every operation with its handler. Does not compile if one of the contract is missing. */
export const operations = implement(contract)
  .$context<RequestContext>()
  .router({
    accounts: accountOperations,
    autoconfig: autoconfigOperations,
    settings: settingOperations,
    mailboxes: mailboxOperations,
    messages: { ...messageOperations, ...contentOperations },
    threads: threadOperations,
    search: searchOperations,
    changes: changeOperations,
  })
