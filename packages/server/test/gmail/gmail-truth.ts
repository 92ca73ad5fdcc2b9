import type { Caller } from '../caller.ts'
import { readMailboxes, readMessages } from '../sync/followed-account.ts'
import type { GmailClient } from './gmail-client.ts'

/** Every message of Gmail with its mailboxes and flags, in words. */
export async function readTruth(client: GmailClient): Promise<string[]> {
  const names = new Map((await client.labels()).map(({ id, name }) => [id, name]))
  const lines = (await client.messages()).map(({ labelIds, subject }) => {
    const mailboxes = labelIds
      .filter(label => !['UNREAD', 'STARRED'].includes(label) && !label.startsWith('CATEGORY_'))
      .map(label => names.get(label) ?? label)
    const isElsewhere = labelIds.includes('TRASH') || labelIds.includes('SPAM')
    if (!isElsewhere) mailboxes.push('All Mail')
    return lineOf(subject, mailboxes, !labelIds.includes('UNREAD'), labelIds.includes('STARRED'))
  })
  return lines.toSorted()
}

/** The same of the index. */
export async function readIndexed(caller: Caller, accountId: string): Promise<string[]> {
  const paths = new Map((await readMailboxes(caller, accountId)).map(({ id, path }) => [id, path]))
  const lines = (await readMessages(caller, accountId)).map(({ subject, mailboxIds, isRead, isFlagged }) =>
    lineOf(
      subject ?? '',
      mailboxIds.map(id => paths.get(id) ?? id),
      isRead,
      isFlagged,
    ),
  )
  return lines.toSorted()
}

const lineOf = (subject: string, mailboxes: string[], isRead: boolean, isFlagged: boolean) =>
  `${subject}: ${mailboxes.toSorted().join(', ')}${isRead ? ' read' : ''}${isFlagged ? ' flagged' : ''}`
