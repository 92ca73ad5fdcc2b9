import { askForSync, waitForRuntime } from '../sync/proxied-account.ts'
import { type GmailAccount, type GmailApp, letter } from './open-gmail-app.ts'

/** Acts while the history of no account can be read, so that no look of the sync comes between. */
export async function whileUnread(
  { app, sandbox }: GmailApp,
  account: GmailAccount,
  act: () => Promise<unknown>,
): Promise<void> {
  await sandbox.addFault({
    does: 'error',
    host: 'gmail.googleapis.com',
    path: '/gmail/v1/users/me/history',
  })
  await account.client.insert(letter('news'), ['INBOX'])
  await waitForRuntime(app, account.accountId, 'backoff')
  await act()
  await sandbox.clearFaults()
  await askForSync(app, account.accountId)
}
