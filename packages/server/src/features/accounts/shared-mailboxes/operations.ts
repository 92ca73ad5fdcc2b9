import { implement } from '@orpc/server'
import {
  type SharedMailboxInput,
  sharedMailboxes as contract,
} from '@waxwing/contract/accounts/shared-mailboxes.ts'
import { presentAccount } from '../../../accounts/present.ts'
import { reachedAs } from '../../../accounts/reach.ts'
import type { AccountView } from '../../../accounts/row.ts'
import type { AccountKeys } from '../../../accounts/secrets.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { refuseFailure } from '../../../calls/provider-failure.ts'
import { refuse } from '../../../calls/refuse.ts'
import type { Connections } from '../../../connections/connections.ts'
import type { SharedMailbox } from '../../../providers/sharing.ts'
import type { SignIns } from '../../../providers/sign-in.ts'
import { isReachable, requireAccountView } from '../accounts/access.ts'
import { planNewSettings } from '../accounts/new-account.ts'
import { requirePaid } from '../plans/limits.ts'
import type { RequireStorage } from '../settings/body-storage.ts'
import { requireDelegate } from './access.ts'
import { recordShared } from './add.ts'

const on = implement(contract).$context<RequestContext>()

/** The time that all calls to the provider may take together. */
const SECONDS_MAX = 50

export interface SharedMailboxServices {
  accountKeys: AccountKeys
  connections: Connections
  signIns: SignIns
  requireStorage: RequireStorage
}

export function sharedMailboxOperations({
  accountKeys,
  connections,
  signIns,
  requireStorage,
}: SharedMailboxServices) {
  return {
    add: on.add.handler(async ({ input: { params, body }, context }) => {
      const delegate = await requireAccountView(context, params.accountId)
      await requireDelegate(context.db, signIns, delegate)
      await requirePaid(context.db, context.tenantId)
      // No grant allows calendars and contacts of shared mailboxes.
      if (body.settings?.calendarEnabled || body.settings?.contactsEnabled) refuse('scope_missing')
      const { tenant } = await planNewSettings(context.db, context.tenantId, delegate.provider, body.settings)
      await requireStorage({
        before: tenant.bodyStorage,
        after: body.settings?.bodyStorage,
        field: 'settings.bodyStorage',
      })
      const found = await requireShared(connections, delegate, body)
      return context.change(async unit => {
        context.target({ delegateAccountId: delegate.id })
        const services = {
          accountKeys,
          signIns,
          isReachable: (accountId: string) => isReachable(context.credential, accountId),
        }
        const opened = { ...found, delegateId: delegate.id }
        return presentAccount(await recordShared(unit, services, opened, body))
      })
    }),
  }
}

/** Refuses unless the user of the delegate can open the mailbox. */
async function requireShared(
  connections: Connections,
  delegate: AccountView,
  { email }: SharedMailboxInput,
): Promise<SharedMailbox> {
  const signal = AbortSignal.timeout(SECONDS_MAX * 1_000)
  const found = await connections
    .use(reachedAs(delegate), 'sharing', sharing => sharing.find(email, signal), {
      isRepeatable: true,
      signal,
    })
    .catch((error: unknown) => refuseFailure(error, 'read'))
  return found ?? refuse('shared_mailbox_inaccessible')
}
