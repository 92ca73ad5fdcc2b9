import type { MessageSummary } from '@waxwing/contract/mail/messages.ts'
import { describeTruth } from '../sync/rest.ts'
import type { GraphClient } from './graph-client.ts'

/** A folder as Graph has it. The names of its path are separated by slashes. */
export interface TrueFolder {
  id: string
  path: string
  depth: number
}

const PAGE = 500

/** All folders, parents before children. */
export async function readFolders(client: GraphClient): Promise<TrueFolder[]> {
  const folders: TrueFolder[] = []
  const visit = async (list: string, parent: string | null, depth: number): Promise<void> => {
    for (const { id, displayName, childFolderCount } of await client.all(`${list}?$top=${PAGE}`)) {
      const path = parent === null ? displayName : `${parent}/${displayName}`
      folders.push({ id, path, depth })
      if (childFolderCount > 0) await visit(`mailFolders/${id}/childFolders`, path, depth + 1)
    }
  }
  await visit('mailFolders', null, 0)
  return folders
}

/** A folder of Graph with its messages, in the words of a mail server. */
export interface TrueGraphMailbox {
  path: string
  unseenCount: number
  messages: Array<{ subject: string; flags: string[]; snippet: string }>
}

/** Every folder and message of Graph. */
export async function readTrueMailboxes(client: GraphClient): Promise<TrueGraphMailbox[]> {
  const select = '$select=subject,isRead,flag,categories,bodyPreview'
  const mailboxes: TrueGraphMailbox[] = []
  for (const { id, path } of await readFolders(client)) {
    const messages = await client.all(`mailFolders/${id}/messages?${select}&$top=${PAGE}`)
    mailboxes.push({
      path,
      unseenCount: messages.filter(({ isRead }) => !isRead).length,
      messages: messages.map(({ subject, isRead, flag, categories, bodyPreview }) => ({
        subject,
        flags: [
          ...(isRead ? ['\\Seen'] : []),
          ...(flag.flagStatus === 'flagged' ? ['\\Flagged'] : []),
          ...categories,
        ],
        snippet: bodyPreview,
      })),
    })
  }
  return mailboxes
}

/** Every folder and message of Graph, in the lines of `describeIndex`, and how each message begins. */
export async function readTruth(client: GraphClient): Promise<string[]> {
  const mailboxes = await readTrueMailboxes(client)
  const texts = mailboxes.flatMap(({ messages }) => messages.map(describeText))
  return [...describeTruth(mailboxes), ...texts.toSorted()]
}

export const describeText = ({ subject, snippet }: Pick<MessageSummary, 'subject' | 'snippet'>): string =>
  `${subject}: "${snippet.trim()}"`
