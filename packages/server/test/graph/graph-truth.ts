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

/** Every folder and message of Graph, in the lines of `describeIndex`, and how each message begins. */
export async function readTruth(client: GraphClient): Promise<string[]> {
  const select = '$select=subject,isRead,flag,categories,bodyPreview'
  const texts: string[] = []
  const truth = []
  for (const { id, path } of await readFolders(client)) {
    const messages = await client.all(`mailFolders/${id}/messages?${select}&$top=${PAGE}`)
    for (const { subject, bodyPreview } of messages)
      texts.push(describeText({ subject, snippet: bodyPreview }))
    truth.push({
      path,
      unseenCount: messages.filter(({ isRead }) => !isRead).length,
      messages: messages.map(({ subject, isRead, flag, categories }) => ({
        subject,
        flags: [
          ...(isRead ? ['\\Seen'] : []),
          ...(flag.flagStatus === 'flagged' ? ['\\Flagged'] : []),
          ...categories,
        ],
      })),
    })
  }
  return [...describeTruth(truth), ...texts.toSorted()]
}

export const describeText = ({ subject, snippet }: Pick<MessageSummary, 'subject' | 'snippet'>): string =>
  `${subject}: "${snippet.trim()}"`
