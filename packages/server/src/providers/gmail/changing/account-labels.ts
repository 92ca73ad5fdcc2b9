import type { GmailApi } from '../api.ts'
import { isMailbox } from '../labels.ts'
import { type Label, labelsSchema } from '../resources.ts'
import { UNITS } from '../units.ts'

/** Gmail's own labels that act as folders, besides the user's labels. */
const FOLDERS = new Set(['INBOX', 'TRASH', 'SPAM'])

/** The labels that an account has now. */
export interface AccountLabels {
  all: readonly Label[]
  /** Ids of the labels that are mailboxes. */
  known: ReadonlySet<string>
  /** Ids of the labels that moving a message replaces. */
  folders: readonly string[]
  /** Ids of the labels that are no mailboxes. */
  ignored: ReadonlySet<string>
}

export async function readLabels(api: GmailApi): Promise<AccountLabels> {
  const { labels } = await api.ask({ path: 'labels', units: UNITS.labelsList, schema: labelsSchema })
  return {
    all: labels,
    known: new Set(labels.filter(isMailbox).map(({ id }) => id)),
    folders: labels.filter(({ id, type }) => type === 'user' || FOLDERS.has(id)).map(({ id }) => id),
    ignored: new Set(labels.filter(label => !isMailbox(label)).map(({ id }) => id)),
  }
}
