import type { ChangingProvider } from '../../changing.ts'
import type { GmailApi } from '../api.ts'
import { MESSAGE_BYTES_MAX } from '../upload.ts'
import { addMessage } from './add-message.ts'
import { addDraft, findDraft, removeDraft, replaceDraft } from './drafts.ts'
import { changing, type Effect } from './effect.ts'
import { findByMessageId } from './find.ts'
import { createMailbox, deleteMailbox, renameMailbox, requireMailboxOf } from './mailboxes.ts'
import { changeFlags, changeLabels, moveMessages, removeMessages } from './messages.ts'

/** Changes the mail of an account by the Gmail API. */
export function gmailChanging(api: GmailApi): ChangingProvider {
  const write = <T>(work: (effect: Effect) => Promise<T>) => changing(api, work)
  return {
    hasLabels: true,
    messageBytesMax: MESSAGE_BYTES_MAX,
    createMailbox: mailbox => write(effect => createMailbox(api, effect, mailbox)),
    requireMailbox: role => requireMailboxOf(api, role),
    renameMailbox: (key, to) => write(effect => renameMailbox(api, effect, key, to)),
    deleteMailbox: key => write(effect => deleteMailbox(api, effect, key)),
    changeFlags: (at, change) => changeFlags(api, at, change),
    changeLabels: (at, change) => changeLabels(api, at, change),
    move: (at, targetKey) => moveMessages(api, at, targetKey),
    remove: at => removeMessages(api, at),
    addMessage: (mailboxKey, message) => write(effect => addMessage(api, effect, mailboxKey, message)),
    addDraft: (draft, mayExist) => write(effect => addDraft(api, effect, draft, mayExist)),
    findDraft: (draft, fields) => findDraft(api, draft, fields),
    removeDraft: draft => write(effect => removeDraft(api, effect, draft)),
    replaceDraft: draft => write(effect => replaceDraft(api, effect, draft)),
    settleDraft: () => Promise.resolve({ kept: null, removed: [] }),
    find: (mailboxKey, internetMessageId, fields = []) =>
      findByMessageId(api, mailboxKey, internetMessageId, fields),
  }
}
