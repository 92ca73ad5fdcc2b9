import { z } from 'zod'
import { operation } from '../operation.ts'
import { accountPath, emailInput, text } from '../shapes.ts'
import { externalRef } from './account-inputs.ts'
import { accountSettingsInput } from './account-settings.ts'
import { account } from './accounts.ts'

const sharedMailboxInput = z.strictObject({
  email: emailInput.describe('The address of the shared mailbox.'),
  displayName: text({ max: 255 }).nullish(),
  externalRef: externalRef.optional(),
  settings: accountSettingsInput.optional(),
})
export type SharedMailboxInput = z.infer<typeof sharedMailboxInput>

export const sharedMailboxes = {
  add: operation({
    method: 'POST',
    path: '/v1/accounts/{accountId}/shared-mailboxes',
    scope: 'write',
    module: 'sharedMailboxes',
    audit: 'account.create',
    makes: 'accountId',
    summary: 'Add a shared mailbox that an account can open.',
    description:
      'Makes an account of a mailbox that others share with the user of this one, its delegate. It is reached with the ' +
      'grant of the delegate, which needs the permissions that `sharedMailboxesEnabled` asks for. A shared mailbox that ' +
      'is an account already is opened by this delegate from now on, and becomes active unless it is paused; the fields ' +
      'that are sent replace its own. A mailbox that signs in for itself is refused with `account_exists`.',
    refuses: [
      'account_disabled',
      'account_exists',
      'account_misconfigured',
      'account_not_found',
      'account_paused',
      'account_reauth_required',
      'billing_past_due',
      'honeypot_needs_click_tracking',
      'org_connection_account',
      'plan_limit_accounts',
      'plan_limit_storage',
      'provider_throttled',
      'provider_unavailable',
      'scope_missing',
      'shared_mailbox_account',
      'shared_mailbox_inaccessible',
      'shared_mailbox_unsupported',
      'storage_unavailable',
    ],
    params: accountPath,
    body: sharedMailboxInput,
    output: account,
  }),
}
