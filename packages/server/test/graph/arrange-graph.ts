import type { Folder } from '../../../sandbox/src/microsoft/mailbox/message.ts'
import {
  addFolder,
  changeFolder,
  findChild,
  removeFolder,
} from '../../../sandbox/src/microsoft/mailbox/folders.ts'
import type { Message } from '../../../sandbox/src/microsoft/mailbox/message.ts'
import { type Mailbox, wellKnownFolder } from '../../../sandbox/src/microsoft/mailbox/mailbox.ts'
import {
  addMessage,
  changeMessage,
  moveMessage,
  removeMessage,
} from '../../../sandbox/src/microsoft/mailbox/messages.ts'
import type {
  Arrangement,
  ChangingArrangement,
  ConnectOptions,
  FollowedArrangement,
  HeldMessage,
} from '../../src/providers/conformance/arrangement.ts'
import { openIndex } from '../../src/providers/conformance/memory-index.ts'
import type { MailProvider, MessageKey } from '../../src/providers/mail.ts'
import type { Cloud } from '../../src/providers/sign-in.ts'
import type { GraphServer } from './graph-server.ts'

type Offered = 'mail' | 'content' | 'search' | 'changing'

export interface GraphArrangement extends FollowedArrangement, ChangingArrangement, Arrangement<Offered> {
  email: string
  mailbox: Mailbox
  folder(path: string): Folder
  message(key: MessageKey): Message
  connect(options?: ConnectOptions): ReturnType<Arrangement<Offered>['connect']>
}

const UNKNOWN_ID = 'AAMkAGI2NGVhZTVlLTI1OGMtNDI4Yg=='

/** The answers for a message that cannot be read. */
const POISONED = {
  cut: () =>
    new Response(
      new ReadableStream({
        pull: controller => controller.error(new Error('The test cuts the answer')),
      }),
    ),
  refuse: () => Response.json({ error: { code: 'ErrorInternalServerError' } }, { status: 500 }),
  omit: () => new Response(null),
}

/** A mailbox of the sandbox's Graph, in which the test makes the changes of other clients. */
export function arrangeGraph(server: GraphServer, cloud: Cloud = 'global'): Promise<GraphArrangement> {
  const { email, mailbox } = server.addUser(cloud)
  const root = wellKnownFolder(mailbox, 'msgfolderroot')
  const folder = (path: string): Folder => {
    if (path === 'INBOX') return wellKnownFolder(mailbox, 'inbox')
    const found = path.split('/').reduce<Folder | null>((at, name) => at && findChild(at, name), root)
    if (!found) throw new Error(`There is no folder ${path}`)
    return found
  }
  const message = (key: MessageKey): Message => {
    const found = mailbox.byId.get(String(key))
    if (!found) throw new Error(`There is no message ${key}`)
    return found
  }
  const split = (path: string): [parent: Folder, name: string] => {
    const at = path.lastIndexOf('/')
    return [at < 0 ? root : folder(path.slice(0, at)), path.slice(at + 1)]
  }
  const inbox = folder('INBOX').id
  const connect = ({ clockAheadMs = 0, pollSeconds = 0.1 }: ConnectOptions = {}) => {
    const account = server.connect(email, {
      now: () => Date.now() + clockAheadMs,
      pollSeconds: Math.min(pollSeconds, 0.1),
    })
    return { ...account, mail: withInbox(account.mail) }
  }
  return Promise.resolve({
    email,
    mailbox,
    folder,
    message,
    kind: 'folder',
    inbox,
    unknownKey: UNKNOWN_ID,
    unknownMailbox: UNKNOWN_ID,
    category: 'Red category',
    messagesOfSteps: 800,
    world: {
      listedAs: path => path,
      deliver: async (messages, path = 'INBOX') =>
        messages.map(({ raw, internalDate }) => {
          const fields = internalDate ? { receivedAt: internalDate.getTime() } : {}
          return addMessage(mailbox, { folder: folder(path), raw: Buffer.from(raw), fields }).immutableId
        }),
      async flag(_, keys, ...flags) {
        for (const key of keys)
          changeMessage(mailbox, message(key), {
            ...(flags.includes('\\Seen') && { isRead: true }),
            ...(flags.includes('\\Draft') && { isDraft: true }),
            ...(flags.includes('\\Flagged') && { flag: { flagStatus: 'flagged' as const } }),
            categories: flags.filter(flag => !flag.startsWith('\\')),
          })
      },
      async move(_, keys, target) {
        for (const key of keys) moveMessage(mailbox, message(key), folder(target))
      },
      async expunge(_, keys) {
        for (const key of keys) removeMessage(mailbox, message(key))
      },
      async createMailbox(path) {
        const [parent, displayName] = split(path)
        addFolder(mailbox, { parent, displayName })
      },
      async renameMailbox(path, to) {
        const [parent, displayName] = split(to)
        changeFolder(mailbox, folder(path), { parent, displayName })
      },
      deleteMailbox: async path => removeFolder(mailbox, folder(path)),
      renumber: () => Promise.reject(new Error('Graph has no numbers')),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    },
    connect: options => Promise.resolve(connect(options)),
    held: async path =>
      folder(path)
        .ordered.toSorted((one, other) => one.number - other.number)
        .map(toHeld),
    // Every folder is shown.
    subscribed: async () => (await connect().mail.listMailboxes()).map(({ path }) => path),
    async index(path) {
      const index = openIndex(folder(path).id)
      await using account = connect()
      await index.follow(account.mail)
      return { ...index, mailboxKey: folder(path).id }
    },
    poison(keys, does) {
      const poisoned = keys.map(key => `/messages/${encodeURIComponent(String(key))}`)
      // A page with a message that the server cannot give fails as a whole.
      const isOfAll = (path: string) =>
        poisoned.length > 0 && /\/messages\?/.test(path) && path.includes('internetMessageHeaders')
      server.intercept = ({ path }) =>
        isOfAll(path) || poisoned.some(one => path.includes(one)) ? POISONED[does]() : null
    },
    async [Symbol.asyncDispose]() {
      server.intercept = null
    },
  })
}

function toHeld({ immutableId, isRead, isDraft, flag, categories, raw }: Message): HeldMessage {
  return {
    key: immutableId,
    flags: [
      ...(isRead ? ['\\Seen'] : []),
      ...(flag.flagStatus === 'flagged' ? ['\\Flagged'] : []),
      ...(isDraft ? ['\\Draft'] : []),
      ...categories,
    ],
    raw: raw.toString(),
  }
}

/** Gives the inbox the name that all arrangements have for it. */
function withInbox(mail: MailProvider): MailProvider {
  return Object.create(mail, {
    listMailboxes: {
      value: async () =>
        (await mail.listMailboxes()).map(mailbox =>
          mailbox.role === 'inbox' ? { ...mailbox, path: 'INBOX', name: 'INBOX' } : mailbox,
        ),
    },
  }) as MailProvider
}
