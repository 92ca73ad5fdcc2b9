import { ProviderFailure } from '../../failure.ts'
import type { ChangingProvider } from '../../changing.ts'
import type { GraphConnection } from '../graph-connection.ts'
import { readDraft } from '../draft-content.ts'
import { addMessage } from './add-message.ts'
import { addDraft, findDraft, replaceDraft, settleDraft } from './drafts.ts'
import { changing, type Effect } from './effect.ts'
import { findByMessageId } from './find.ts'
import { changeFlags } from './flags.ts'
import { createMailbox, deleteMailbox, renameMailbox, requireMailboxOf } from './mailboxes.ts'
import { moveMessages, removeMessages } from './move.ts'
import { removeDraft } from './remove-drafts.ts'

/** Changes the mail of an account by Microsoft Graph. */
export function graphChanging({ api }: GraphConnection): ChangingProvider {
  const write = <T>(work: (effect: Effect) => Promise<T>) => changing(api, work)
  return {
    hasLabels: false,
    messageBytesMax: null,
    createMailbox: mailbox => write(effect => createMailbox(api, effect, mailbox)),
    requireMailbox: role => requireMailboxOf(api, role),
    renameMailbox: (key, to) => write(effect => renameMailbox(api, effect, key, to)),
    deleteMailbox: key => write(effect => deleteMailbox(api, effect, key)),
    changeFlags: (at, change) => changeFlags(api, at, change),
    // oxlint-disable-next-line require-yield -- there is nothing to yield
    async *changeLabels() {
      throw new ProviderFailure('unsupported', 'A message of Exchange is in one folder.')
    },
    move: (at, targetKey) => moveMessages(api, at, targetKey),
    remove: at => removeMessages(api, at),
    addMessage: (mailboxKey, message) => write(effect => addMessage(api, effect, mailboxKey, message)),
    addDraft: (draft, mayExist) => write(effect => addDraft(api, effect, draft, mayExist)),
    findDraft: (draft, fields) => findDraft(api, draft, fields),
    readDraft: async key => (await readDraft(api, String(key)))?.message ?? null,
    removeDraft: draft => write(effect => removeDraft(api, effect, draft)),
    replaceDraft: draft => write(effect => replaceDraft(api, effect, draft)),
    settleDraft: draft => write(effect => settleDraft(api, effect, draft)),
    find: (mailboxKey, internetMessageId, fields = []) =>
      findByMessageId(api, mailboxKey, internetMessageId, fields),
  }
}
