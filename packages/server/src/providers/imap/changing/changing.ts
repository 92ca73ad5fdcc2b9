import { CHANGED_KEYS_MAX, type ChangingProvider, type MessageSet } from '../../changing.ts'
import { ProviderFailure } from '../../failure.ts'
import type { Following } from '../follow.ts'
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
export function imapChanging(following: Following): ChangingProvider {
  const { connection } = following
  let namespaces: Namespaces | null = null
  const write = <T>(work: (effect: Effect) => Promise<T>) => changing(connection, work)
  const inTree = <T>(work: (effect: Effect, known: Namespaces) => Promise<T>) =>
    write(async effect => work(effect, (namespaces ??= await askNamespaces(connection))))

  return {
    hasLabels: false,
    messageBytesMax: connection.limitOf('APPENDLIMIT'),
    createMailbox: mailbox => inTree((effect, known) => createMailbox(following, known, effect, mailbox)),
    requireMailbox: role => inTree((effect, known) => requireMailbox(following, known, effect, role)),
    renameMailbox: (key, to) => inTree((effect, known) => renameMailbox(following, known, effect, key, to)),
    deleteMailbox: key => inTree((effect, known) => deleteMailbox(following, known, effect, key)),
    changeFlags: (at, change) => changeFlags(following, bounded(at), change),
    move: (at, targetKey) => moveMessages(following, bounded(at), targetKey),
    // oxlint-disable-next-line require-yield -- there is nothing to yield
    async *changeLabels() {
      throw new ProviderFailure('unsupported', 'A message of this account is in one mailbox only.')
    },
    remove: at => removeMessages(following, bounded(at)),
    addMessage: (mailboxKey, message) =>
      write(effect => appendMessage(following, effect, mailboxKey, message)),
    addDraft: draft => write(effect => addDraft(following, effect, draft)),
    findDraft: (draft, fields) => findDraft(following, draft, fields),
    removeDraft: draft => write(effect => removeDraft(following, effect, draft)),
    replaceDraft: draft => write(effect => replaceDraft(following, effect, draft)),
    settleDraft: draft => write(effect => settleDraft(following, effect, draft)),
    find: (mailboxKey, internetMessageId, fields = []) =>
      findByMessageId(following, mailboxKey, internetMessageId, fields),
  }
}

function bounded(at: MessageSet): MessageSet {
  if (at.keys.length > CHANGED_KEYS_MAX) throw new RangeError(`more than ${CHANGED_KEYS_MAX} keys`)
  return at
}
