import type { Random } from '../seeded.ts'
import type { MailServer } from '../servers/mail-server.ts'
import type { TrueMailbox } from '../servers/reference.ts'
import type { World } from '../servers/world.ts'

const MAILBOXES_MAX = 9

/** Another client of a mailbox that does one thing after the other, and remembers where everything is. */
export interface OtherClient {
  /** The content of each mailbox: the number of the content by UID. */
  mailboxes: Map<string, Map<number, number>>
  /** Contents that were in each mailbox at any time, by its path. */
  held: Map<string, Set<number>>
  /** Contents that it expunged, or that were in a mailbox that it deleted. */
  removed: Set<number>
  /** Contents that ever had more than one copy. */
  copied: Set<number>
  moved: Set<number>
  /** Does something and returns a description. */
  act(): Promise<string>
  /** Delivers this many new contents. */
  deliver(path: string, count: number): Promise<void>
  create(path: string): Promise<void>
  /** Goes on over another connection, with what the mailboxes have now. Needed if others change them too. */
  lookAgain(world: World, truth: readonly TrueMailbox[]): void
}

export interface OtherClientOptions {
  /** The flags that it sets and clears. */
  flags?: readonly string[]
  /** Called when it has changed a flag. */
  onFlagged?: (change: {
    path: string
    uids: readonly number[]
    flag: string
    isSet: boolean
  }) => Promise<void>
  /** Called when a change of a flag was refused, perhaps after it was made in part. */
  onRefused?: (contents: readonly number[], flag: string) => void
}

interface Acting {
  world: World
  server: MailServer
  random: Random
  client: OtherClient
  options: OtherClientOptions
  made: { contents: number; mailboxes: number }
}

export function openOtherClient(
  world: World,
  server: MailServer,
  random: Random,
  options: OtherClientOptions = {},
): OtherClient {
  const client: OtherClient = {
    mailboxes: new Map(),
    held: new Map(),
    removed: new Set(),
    copied: new Set(),
    moved: new Set(),
    act: () => act(acting),
    async deliver(path, count) {
      const contents = Array.from({ length: count }, () => acting.made.contents++)
      const uids = await acting.world.deliver(contents.map(letter), path)
      uids.forEach((uid, index) => client.mailboxes.get(path)?.set(uid, contents[index] ?? 0))
      noteHeld(client, path)
    },
    async create(path) {
      await acting.world.createMailbox(path)
      client.mailboxes.set(path, new Map())
    },
    lookAgain(renewed, truth) {
      acting.world = renewed
      client.mailboxes = new Map(
        truth.map(({ path, messages }) => [
          path,
          new Map(messages.map(one => [one.uid, contentOf(one.subject)])),
        ]),
      )
      for (const path of client.mailboxes.keys()) noteHeld(client, path)
    },
  }
  const made = { contents: 0, mailboxes: 0 }
  const acting: Acting = { world, server, random, client, options, made }
  return client
}

export function subjectOf(content: number): string {
  return `content ${content}`
}

export function contentOf(subject: string | null): number {
  return Number(/^content (\d+)$/.exec(subject ?? '')?.[1])
}

function noteHeld({ held, mailboxes }: OtherClient, path: string, more: readonly number[] = []): void {
  held.set(path, new Set([...(held.get(path) ?? []), ...(mailboxes.get(path)?.values() ?? []), ...more]))
}

function letter(content: number) {
  const head = `From: a@b.test\r\nTo: you@b.test\r\nSubject: ${subjectOf(content)}`
  return {
    raw: `${head}\r\nMessage-ID: <${content}@b.test>\r\n\r\nHello\r\n`,
    internalDate: new Date(Date.UTC(2026, 0, 1) + content * 1_000),
  }
}

async function act(acting: Acting): Promise<string> {
  const { world, random, client } = acting
  const path = random.pick([...client.mailboxes.keys()])
  const held = client.mailboxes.get(path) ?? new Map<number, number>()
  const uids = pickSome(random, [...held.keys()])
  const target = random.pick([...client.mailboxes.keys()])
  const contents = uids.map(uid => `c${held.get(uid)}.`).join(' ')
  const kind = random.between(0, 99)
  if (kind < 20 || uids.length === 0) {
    await client.deliver(path, random.between(1, 3))
    return `deliver to ${path}`
  }
  if (kind < 40) return changeFlags(acting, path, uids)
  if (kind < 60) {
    if (target === path) return 'nothing'
    await transfer(acting, path, uids, target)
    for (const uid of uids) {
      client.moved.add(held.get(uid) ?? 0)
      held.delete(uid)
    }
    return `move ${contents} of ${path} to ${target}`
  }
  if (kind < 66) {
    for (const uid of uids) client.copied.add(held.get(uid) ?? 0)
    await transfer(acting, path, uids, target, 'copy')
    return `copy ${contents} of ${path} to ${target}`
  }
  if (kind < 78) {
    for (const uid of uids) client.removed.add(held.get(uid) ?? 0)
    await world.expunge(path, uids)
    for (const uid of uids) held.delete(uid)
    return `expunge ${contents} of ${path}`
  }
  return changeMailboxes(acting, path)
}

function pickSome(random: Random, uids: number[]): number[] {
  const share = random.pick([0.05, 0.3, 1])
  const chosen = uids.filter(() => random.chance(share))
  return chosen.length > 0 || uids.length === 0 ? chosen : [random.pick(uids)]
}

const FLAGS = ['\\Seen', '\\Flagged', 'work', 'later', '\\Answered']

async function changeFlags(
  { world, random, client, options }: Acting,
  path: string,
  uids: number[],
): Promise<string> {
  const flag = random.pick(options.flags ?? FLAGS)
  const verb = random.pick(['flag', 'unflag'] as const)
  try {
    await world[verb](path, uids, flag)
  } catch (error) {
    const held = client.mailboxes.get(path)
    options.onRefused?.(
      uids.flatMap(uid => held?.get(uid) ?? []),
      flag,
    )
    throw error
  }
  await options.onFlagged?.({ path, uids, flag, isSet: verb === 'flag' })
  return `${verb} ${uids.join()} of ${path} ${flag}`
}

async function transfer(
  { world, client }: Acting,
  path: string,
  uids: number[],
  target: string,
  verb: 'move' | 'copy' = 'move',
): Promise<void> {
  const contents = uids.toSorted((a, b) => a - b).map(uid => client.mailboxes.get(path)?.get(uid) ?? 0)
  // A deletion of the target meanwhile deletes them.
  noteHeld(client, target, contents)
  const arrived = await world[verb](path, uids, target)
  arrived.forEach((uid, index) => client.mailboxes.get(target)?.set(uid, contents[index] ?? 0))
  noteHeld(client, target)
}

async function changeMailboxes(acting: Acting, path: string): Promise<string> {
  const { world, server, random, client, made } = acting
  const isLeaf = ![...client.mailboxes.keys()].some(other => other.startsWith(`${path}/`))
  const isCustom = /Made \d+$/.test(path)
  const verb = random.pick(['create', 'create', 'rename', 'rename', 'delete', 'renumber'] as const)
  if (verb === 'create' && client.mailboxes.size < MAILBOXES_MAX) {
    const name = `Made ${made.mailboxes++}`
    await client.create(isCustom && path.split('/').length < 3 ? `${path}/${name}` : world.at(name))
    return `create ${name}`
  }
  if (verb === 'rename' && isCustom) return rename(acting, path)
  if (verb === 'delete' && isCustom && isLeaf) {
    await world.deleteMailbox(path)
    noteHeld(client, path)
    for (const content of client.held.get(path) ?? []) client.removed.add(content)
    client.mailboxes.delete(path)
    return `delete ${path}`
  }
  // Cyrus can only recreate a mailbox, and neither INBOX nor one with children.
  if (verb === 'renumber' && (server.kind !== 'cyrus' || (isCustom && isLeaf))) {
    await world.renumber(path)
    const contents = [...(client.mailboxes.get(path) ?? [])].toSorted(([a], [b]) => a - b)
    const uids = await world.uids(path)
    client.mailboxes.set(path, new Map(uids.map((uid, index) => [uid, contents[index]?.[1] ?? 0])))
    return `renumber ${path}`
  }
  return 'nothing'
}

async function rename({ world, client, made }: Acting, path: string): Promise<string> {
  const name = `Made ${made.mailboxes++}`
  const to = `${path.slice(0, path.lastIndexOf('/') + 1)}${name}`
  await world.renameMailbox(path, to)
  const renamed = [...client.mailboxes].filter(([other]) => other === path || other.startsWith(`${path}/`))
  for (const [other, held] of renamed) {
    client.mailboxes.delete(other)
    client.mailboxes.set(to + other.slice(path.length), held)
  }
  return `rename ${path} to ${to}`
}
