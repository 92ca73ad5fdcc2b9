import { implement } from '@orpc/server'
import type { AccountSettings } from '@waxwing/contract/accounts/account-settings.ts'
import {
  type SharedMailboxInput,
  sharedMailboxes as contract,
} from '@waxwing/contract/accounts/shared-mailboxes.ts'
import { presentAccount } from '../../../accounts/present.ts'
import { reachedAs } from '../../../accounts/reach.ts'
import type { AccountView } from '../../../accounts/row.ts'
import type { AccountKeys } from '../../../accounts/secrets.ts'
import { grantedHalves, inheritedSettings } from '../../../accounts/settings.ts'
import { findAccountIdBySubject, findAccountView } from '../../../accounts/store.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { refuseFailure } from '../../../calls/provider-failure.ts'
import { refuse } from '../../../calls/refuse.ts'
import type { Connections } from '../../../connections/connections.ts'
import type { Db } from '../../../database/pool.ts'
import type { SharedMailbox } from '../../../providers/sharing.ts'
import type { SignIns } from '../../../providers/sign-in.ts'
import { isReachable, requireAccountView } from '../accounts/access.ts'
import { planNewSettings, refuseExisting } from '../accounts/new-account.ts'
import { requirePaid } from '../plans/limits.ts'
import type { RequireStorage } from '../settings/body-storage.ts'
import { requireHalves } from '../grants/access.ts'
import { requireDelegate } from './access.ts'
import { recordShared } from './add.ts'
import { findAccountIdByInbox } from './signed-in.ts'

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
      const { db, tenantId } = context
      await requirePaid(db, tenantId)
      requireHalves(grantedHalves({ ...delegate, auth_method: 'delegate' }), body.settings)
      const found = await requireShared(connections, delegate, body)
      const signedInId = await findAccountIdByInbox(db, { tenantId, provider: delegate.provider }, found)
      const isSeen = (accountId: string) => isReachable(context.credential, accountId)
      if (signedInId !== null) refuseExisting(isSeen(signedInId) ? signedInId : null)
      const stored = await findBodyStorage(db, tenantId, found)
      const { tenant } = await planNewSettings(db, tenantId, delegate.provider, body.settings, stored)
      await requireStorage({
        before: stored ?? tenant.bodyStorage,
        after: body.settings?.bodyStorage,
        field: 'settings.bodyStorage',
      })
      return context.change(async unit => {
        context.target({ delegateAccountId: delegate.id })
        const services = { accountKeys, signIns, isReachable: isSeen }
        const opened = { ...found, delegateId: delegate.id }
        return presentAccount(await recordShared(unit, services, opened, body))
      })
    }),
  }
}

/** The `bodyStorage` of the account that the mailbox has already: if it stays as it is, nothing more is stored. */
async function findBodyStorage(
  db: Db,
  tenantId: string,
  { subject }: SharedMailbox,
): Promise<AccountSettings['bodyStorage'] | undefined> {
  const id = await findAccountIdBySubject(db, tenantId, subject)
  const account = id === null ? null : await findAccountView(db, tenantId, id)
  return account ? inheritedSettings(account.tenant_settings, account).bodyStorage : undefined
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
