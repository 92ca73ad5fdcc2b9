import { CHANGED_KEYS_MAX, type ChangingProvider, type MessageSet } from '../../changing.ts'
import { ProviderFailure } from '../../failure.ts'
import type { TrackedMailboxes } from '../follow.ts'
import { askNamespaces } from '../list.ts'
import type { Namespaces } from '../mailboxes.ts'
import { appendMessage } from './append.ts'
import { addDraft, findDraft, removeDraft, replaceDraft, settleDraft } from './drafts.ts'
import { changing, type Effect } from './effect.ts'
import { findByMessageId } from './find.ts'
import { changeFlags } from './flags.ts'
import { createMailbox, deleteMailbox, renameMailbox, requireMailbox } from './mailboxes.ts'
import { moveMessages } from './move.ts'
import { removeMessages } from './remove.ts'

/** Changes the mail of an account over a connection that is also used for reading. */
export function imapChanging(tracked: TrackedMailboxes): ChangingProvider {
  const { connection } = tracked
  let namespaces: Namespaces | null = null
  const write = <T>(work: (effect: Effect) => Promise<T>) => changing(connection, work)
  const inTree = <T>(work: (effect: Effect, known: Namespaces) => Promise<T>) =>
    write(async effect => work(effect, (namespaces ??= await askNamespaces(connection))))

  return {
    hasLabels: false,
    messageBytesMax: connection.limitOf('APPENDLIMIT'),
    createMailbox: mailbox => inTree((effect, known) => createMailbox(tracked, known, effect, mailbox)),
    requireMailbox: role => inTree((effect, known) => requireMailbox(tracked, known, effect, role)),
    renameMailbox: (key, to) => inTree((effect, known) => renameMailbox(tracked, known, effect, key, to)),
    deleteMailbox: key => inTree((effect, known) => deleteMailbox(tracked, known, effect, key)),
    changeFlags: (at, change) => changeFlags(tracked, bounded(at), change),
    move: (at, targetKey) => moveMessages(tracked, bounded(at), targetKey),
    // oxlint-disable-next-line require-yield -- there is nothing to yield
    async *changeLabels() {
      throw new ProviderFailure('unsupported', 'A message of this account is in one mailbox only.')
    },
    remove: at => removeMessages(tracked, bounded(at)),
    addMessage: (mailboxKey, message) => write(effect => appendMessage(tracked, effect, mailboxKey, message)),
    addDraft: draft => write(effect => addDraft(tracked, effect, draft)),
    findDraft: (draft, fields) => findDraft(tracked, draft, fields),
    removeDraft: draft => write(effect => removeDraft(tracked, effect, draft)),
    replaceDraft: draft => write(effect => replaceDraft(tracked, effect, draft)),
    settleDraft: draft => write(effect => settleDraft(tracked, effect, draft)),
    find: (mailboxKey, internetMessageId, fields = []) =>
      findByMessageId(tracked, mailboxKey, internetMessageId, fields),
  }
}

function bounded(at: MessageSet): MessageSet {
  if (at.keys.length > CHANGED_KEYS_MAX) throw new RangeError(`more than ${CHANGED_KEYS_MAX} keys`)
  return at
}
