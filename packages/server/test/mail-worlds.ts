import type { Location } from '../src/providers/content.ts'
import type { NewLocation } from '../src/features/mail/messages/record-new-locations.ts'
import type { LocatedMessage, MailProvider, RemoteMailbox, RemoteMessage } from '../src/providers/mail.ts'
import { type LoggedMessage, LogServer, logMail, presentLogged, toLoggedRemote } from './memory-log.ts'
import {
  flagsOf,
  locationIn,
  type MemoryMessage,
  MemoryServer,
  memoryMail,
  presentMailbox,
  toRemote,
} from './memory-mail.ts'
import type { Random } from './seeded.ts'

/** A provider in memory that other clients change at every moment, for the engine to follow. */
export interface MailWorld {
  connect(): MailProvider
  /** Called wherever a connection awaits; may throw. */
  onAwait(call: () => void | Promise<void>): void
  /** Does what another client might. */
  disturb(): void
  /** Changes by the interface at the provider. */
  hand: ProviderHand
  /** Every message with each mailbox that it is in, as `content|mailbox|flags`, ascending. */
  truth(): string[]
}

/** Changes at a provider, each at once, with what it answers; null where nothing is there to be changed. */
export interface ProviderHand {
  toggleRead(at: Location): LocatedMessage | null
  move(at: Location, mailboxKey: string): { to: NewLocation | null; mailboxKeys: string[] } | null
  remove(at: Location): boolean
  add(mailboxKey: string): { message: RemoteMessage; to: NewLocation | null } | null
  createMailbox(): RemoteMailbox
  renameMailbox(key: string): RemoteMailbox | null
  /** @returns the contents of the messages that were in it */
  deleteMailbox(key: string): string[] | null
}

const timeOf = (nth: number) => new Date(1.7e12 + nth * 1_000)

export function lineOf(
  content: string,
  mailbox: string,
  flags: [boolean, boolean, readonly string[]],
): string {
  return [content, mailbox, flags[0] ? 't' : 'f', flags[1] ? 't' : 'f', flags[2].join(',')].join('|')
}

/** Folders that number their messages, as on IMAP. */
export function numberedFolders(random: Random): MailWorld {
  const server = new MemoryServer()
  let delivered = 0
  const deliver = (path: string) => server.deliver(path, `content ${delivered}`, timeOf(++delivered))
  server.create('INBOX', 'inbox')
  server.create('Sent', 'sent')
  server.create('Work')
  server.create('Old')
  for (const { path } of server.mailboxes.values())
    for (let count = random.between(0, 30); count > 0; count--) deliver(path)
  return {
    connect: () => memoryMail(server).mail,
    onAwait: call => (server.onAwait = call),
    disturb() {
      const mailboxes = [...server.mailboxes.values()]
      const mailbox = random.pick(mailboxes)
      const message = mailbox.messages[random.between(0, mailbox.messages.length)]
      const kind = random.between(0, 19)
      if (kind < 6) deliver(mailbox.path)
      else if (kind < 10 && message) message.isRead = !message.isRead
      else if (kind < 11 && message) message.categories = message.categories.length > 0 ? [] : ['work']
      else if (kind < 15 && message) server.move(mailbox.path, message, random.pick(mailboxes).path)
      else if (kind < 17 && message) server.expunge(mailbox.path, message)
      else if (kind === 17) server.renumber(mailbox.path)
      else if (kind === 18 && mailbox.role === 'custom') server.rename(mailbox.path, `Renamed ${delivered++}`)
      else if (kind === 19 && mailbox.role === 'custom' && mailboxes.length < 8)
        server.create(`Made ${delivered++}`)
    },
    hand: numberedHand(server, random, () => ({
      content: `content ${delivered}`,
      time: timeOf(++delivered),
    })),
    truth: () =>
      [...server.mailboxes.values()]
        .flatMap(({ path, messages }) =>
          messages.map(({ content, isRead, isFlagged, categories }) =>
            lineOf(content, path, [isRead, isFlagged, categories]),
          ),
        )
        .toSorted(),
  }
}

type NextContent = () => { content: string; time: Date }

function numberedHand(server: MemoryServer, random: Random, next: NextContent): ProviderHand {
  const find = ({ source, cursor, key }: Location): MemoryMessage | null => {
    const mailbox = server.mailboxes.get(source)
    if (mailbox?.uidValidity !== cursor?.['uidValidity']) return null
    return mailbox?.messages.find(({ uid }) => uid === key) ?? null
  }
  const located = (path: string, key: number): NewLocation | null => {
    // As a server without UIDPLUS.
    return random.chance(0.3) ? null : locationIn(server.get(path), key)
  }
  return {
    toggleRead(at) {
      const message = find(at)
      if (!message) return null
      message.isRead = !message.isRead
      return { flags: flagsOf(message), mailboxKeys: [at.source] }
    },
    move(at, path) {
      const message = find(at)
      if (!message || !server.mailboxes.has(path)) return null
      return { to: located(path, server.move(at.source, message, path)), mailboxKeys: [path] }
    },
    remove(at) {
      const message = find(at)
      if (message) server.expunge(at.source, message)
      return message !== null
    },
    add(path) {
      if (!server.mailboxes.has(path)) return null
      const { content, time } = next()
      const uid = server.deliver(path, content, time)
      const mailbox = server.get(path)
      return { message: toRemote(mailbox, mailbox.messages.at(-1)!), to: located(path, uid) }
    },
    createMailbox: () => presentMailbox(server.create(`Own ${next().content}`)),
    renameMailbox(path) {
      if (!server.mailboxes.has(path)) return null
      const name = `Own ${next().content}`
      server.rename(path, name)
      return presentMailbox(server.get(name))
    },
    deleteMailbox(path) {
      const mailbox = server.mailboxes.get(path)
      server.mailboxes.delete(path)
      return mailbox?.messages.map(({ content }) => content) ?? null
    },
  }
}

/** Labels with one history of the whole account, as at Gmail. */
export const labelledHistory = (random: Random) => loggedWorld('labels', random)

/**
 * Folders with a log each and lasting ids, as with Graph: a log may forget what was moved in, say that a message has left
 * that is back, name one twice, name only what changed, and expire between two pages.
 */
export const loggedFolders = (random: Random) => loggedWorld('folders', random)

function loggedWorld(kind: 'labels' | 'folders', random: Random): MailWorld {
  const server = new LogServer(kind)
  let delivered = 0
  const all = kind === 'labels' ? server.create('All', 'all').key : null
  for (const [name, role] of [
    ['Inbox', 'inbox'],
    ['Sent', 'sent'],
    ['Work', 'custom'],
    ['Old', 'custom'],
  ] as const)
    server.create(name, role)

  const choices = () => [...server.mailboxes.values()].filter(({ key }) => key !== all)
  const somewhere = () => {
    const { key } = random.pick(choices())
    return all === null ? [key] : [...new Set([all, key, random.pick(choices()).key])]
  }
  const deliver = () => server.deliver(somewhere(), `content ${delivered}`, timeOf(++delivered))
  for (let count = random.between(0, 90); count > 0; count--) deliver()
  // A log must report messages that the index may not have yet.
  const told = new Set(server.messages.keys())

  return {
    connect: () => logMail(server).mail,
    onAwait: call => (server.onAwait = call),
    disturb() {
      const messages = [...server.messages.values()]
      const message = messages[random.between(0, messages.length)]
      const mailbox = random.pick(choices())
      const kindOfChange = random.between(0, kind === 'folders' ? 22 : 19)
      if (kindOfChange < 6) deliver()
      else if (kindOfChange < 9 && message) {
        message.isRead = !message.isRead
        server.touch(message, random.chance(0.5) ? 'flags' : 'all')
      } else if (kindOfChange === 20 && message && told.has(message.id)) {
        const [home] = message.mailboxes
        server.place(message, somewhere(), random.chance(0.5))
        server.place(message, [home!], true)
      } else if (kindOfChange === 21 && message) server.repeat(message)
      else if (kindOfChange === 22) server.expire(mailbox.key)
      else if (kindOfChange < 10 && message && kind === 'folders') {
        message.content = `content ${delivered}`
        message.receivedAt = timeOf(++delivered)
        server.touch(message)
      } else if (kindOfChange < 14 && message)
        server.place(message, somewhere(), told.has(message.id) && kind === 'folders' && random.chance(0.5))
      else if (kindOfChange < 16 && message) server.delete(message)
      else if (kindOfChange === 16) server.expire()
      else if (kindOfChange === 17 && mailbox.role === 'custom') mailbox.name = `Renamed ${delivered++}`
      else if (kindOfChange === 18 && mailbox.role === 'custom' && choices().length > 3) server.drop(mailbox)
      else if (kindOfChange === 19 && choices().length < 8) server.create(`Made ${delivered++}`)
    },
    hand: loggedHand(server, all, () => ({ content: `content ${delivered}`, time: timeOf(++delivered) })),
    truth: () =>
      [...server.messages.values()]
        .flatMap(({ mailboxes, content, isRead, isFlagged, categories }) =>
          [...mailboxes].map(key =>
            lineOf(content, server.mailboxes.get(key)!.name, [isRead, isFlagged, categories]),
          ),
        )
        .toSorted(),
  }
}

function loggedHand(server: LogServer, all: string | null, next: NextContent): ProviderHand {
  const inAll = (key: string) => (all === null || all === key ? [key] : [all, key])
  const located = ({ id, mailboxes }: LoggedMessage): NewLocation => ({
    source: server.sourceOf([...mailboxes][0]!),
    key: id,
    isValidUnder: () => true,
    firstCursor: null,
  })
  return {
    toggleRead({ key }) {
      const message = server.messages.get(String(key))
      if (!message) return null
      message.isRead = !message.isRead
      server.touch(message)
      return { flags: flagsOf(message), mailboxKeys: [...message.mailboxes] }
    },
    move({ key }, mailboxKey) {
      const message = server.messages.get(String(key))
      if (!message || !server.mailboxes.has(mailboxKey)) return null
      server.place(message, inAll(mailboxKey))
      return { to: located(message), mailboxKeys: [...message.mailboxes] }
    },
    remove({ key }) {
      const message = server.messages.get(String(key))
      if (message) server.delete(message)
      return message !== undefined
    },
    add(mailboxKey) {
      if (!server.mailboxes.has(mailboxKey)) return null
      const { content, time } = next()
      const message = server.deliver(inAll(mailboxKey), content, time)
      return { message: toLoggedRemote(message), to: located(message) }
    },
    createMailbox: () => presentLogged(server, server.create(`Own ${next().content}`)),
    renameMailbox(key) {
      const mailbox = server.mailboxes.get(key)
      if (!mailbox) return null
      mailbox.name = `Own ${next().content}`
      return presentLogged(server, mailbox)
    },
    deleteMailbox(key) {
      const mailbox = server.mailboxes.get(key)
      if (!mailbox) return null
      const messages = [...server.messages.values()].filter(({ mailboxes }) => mailboxes.has(key))
      server.drop(mailbox)
      return messages.map(({ content }) => content)
    },
  }
}
