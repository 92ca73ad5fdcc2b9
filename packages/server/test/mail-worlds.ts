import type { MailProvider } from '../src/providers/mail.ts'
import { LogServer, logMail } from './memory-log.ts'
import { MemoryServer, memoryMail } from './memory-mail.ts'
import type { Random } from './seeded.ts'

/** A provider in memory that other clients change at every moment, for the engine to follow. */
export interface MailWorld {
  connect(): MailProvider
  /** Called wherever a connection awaits; may throw. */
  onAwait(call: () => void): void
  /** Does what another client might. */
  disturb(): void
  /** Every message with each mailbox that it is in, as `content|mailbox|flags`, ascending. */
  truth(): string[]
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

/** Labels with one history of the whole account, as at Gmail. */
export const labelledHistory = (random: Random) => loggedWorld('labels', random)

/** Folders with a log each and lasting ids, as with Graph: a log may forget what was moved in. */
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
  // What the index may not hold yet, a log must tell of.
  const told = new Set(server.messages.keys())

  return {
    connect: () => logMail(server).mail,
    onAwait: call => (server.onAwait = call),
    disturb() {
      const messages = [...server.messages.values()]
      const message = messages[random.between(0, messages.length)]
      const mailbox = random.pick(choices())
      const kindOfChange = random.between(0, 19)
      if (kindOfChange < 6) deliver()
      else if (kindOfChange < 9 && message) {
        message.isRead = !message.isRead
        server.touch(message)
      } else if (kindOfChange < 10 && message && kind === 'folders') {
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
