import { readMailboxes } from '../sync/followed-account.ts'
import type { GraphAccount, GraphApp } from './open-graph-app.ts'

/* A mailbox as the index has it and as another client sees it, both as lines `folder: subject, whether read`. */

export async function indexed(
  { app }: Pick<GraphApp, 'app'>,
  { accountId, messages }: Pick<GraphAccount, 'accountId' | 'messages'>,
): Promise<string[]> {
  const names = new Map((await readMailboxes(app, accountId)).map(({ id, name }) => [id, name]))
  return (await messages())
    .map(({ mailboxIds, subject, isRead }) => `${mailboxIds.map(id => names.get(id))}: ${subject}, ${isRead}`)
    .toSorted()
}

export async function truth({ client }: Pick<GraphAccount, 'client'>): Promise<string[]> {
  const names = new Map(
    (await client.all('mailFolders/delta')).map(({ id, displayName }) => [id, displayName]),
  )
  return (await client.all('messages?$top=500&$select=subject,parentFolderId,isRead'))
    .map(({ parentFolderId, subject, isRead }) => `${names.get(parentFolderId)}: ${subject}, ${isRead}`)
    .toSorted()
}
