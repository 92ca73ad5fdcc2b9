import type { Random } from '../seeded.ts'
import { subjectOf } from '../sync/other-client.ts'
import { type GraphClient, refusalOf } from './graph-client.ts'
import { readFolders, type TrueFolder } from './graph-truth.ts'

const FOLDERS_MAX = 14
const DEPTH_MAX = 3
const CATEGORIES = [[], ['work'], ['later', 'work']]

/** The other client of a mailbox, and what it needs to act. */
export interface ActingThere {
  client: GraphClient
  random: Random
  /** Whether its cloud deletes messages for good in one step. */
  hasPermanentDelete: boolean
  /** Numbers contents and folders. */
  next(): number
  /** Delivers a message from outside. */
  deliver(message: string): Promise<unknown>
}

export const letterOf = (content: number): string =>
  `From: Grace <grace@example.com>\r\nTo: me@office.test\r\nSubject: ${subjectOf(content)}\r\nMessage-ID: <${content}@example.com>\r\n\r\nText of ${content}\r\n`

/** Does one thing as another client, unless what it chose is gone by then. @returns what it did, in words */
export function actThere(acting: ActingThere): Promise<string> {
  return change(acting).catch((error: unknown) => {
    if (![400, 403, 404, 409].includes(refusalOf(error) ?? 0)) throw error
    return `there: refused: ${String(error)}`
  })
}

async function change(acting: ActingThere): Promise<string> {
  const { client, random, next, deliver } = acting
  const kind = random.between(0, 99)
  if (kind >= 78) return changeFolders(acting)
  if (kind >= 66) return changeDrafts(acting)
  const messages = await client.all('messages?$select=id,subject,parentFolderId&$top=500')
  if (kind < 20 || messages.length === 0) {
    const content = next()
    await deliver(letterOf(content))
    return `there: deliver ${content}`
  }
  const { id, subject, parentFolderId } = random.pick(messages)
  if (kind < 34) {
    const [isRead, flagStatus] = [random.chance(0.5), random.pick(['flagged', 'notFlagged', 'complete'])]
    const changes = { isRead, flag: { flagStatus }, categories: random.pick(CATEGORIES) }
    await client.ask('PATCH', `messages/${id}`, random.chance(0.5) ? { isRead } : changes)
    return `there: mark ${subject}`
  }
  const { id: target, path } = random.pick(await readFolders(client))
  if (kind < 56) {
    await move(client, id, target)
    if (kind < 46) return `there: move ${subject} to ${path}`
    await move(client, id, parentFolderId)
    return `there: move ${subject} to ${path} and back`
  }
  if (kind < 62) {
    await client.ask('DELETE', `messages/${id}`)
    return `there: trash ${subject}`
  }
  await removeForGood(acting, id)
  return `there: remove ${subject}`
}

const move = (client: GraphClient, id: string, destinationId: string): Promise<unknown> =>
  client.ask('POST', `messages/${id}/move`, { destinationId })

async function removeForGood({ client, hasPermanentDelete }: ActingThere, id: string): Promise<void> {
  if (hasPermanentDelete) return client.ask('POST', `messages/${id}/permanentDelete`)
  await move(client, id, 'deleteditems')
  await client.ask('DELETE', `messages/${id}`)
}

async function changeDrafts(acting: ActingThere): Promise<string> {
  const { client, random, next } = acting
  const drafts = await client.all('messages?$filter=isDraft eq true&$select=id,subject&$top=500')
  const number = next()
  const body = { contentType: 'text', content: `their text ${number}` }
  if (drafts.length === 0 || random.chance(0.3)) {
    const subject = subjectOf(number)
    await client.ask('POST', 'messages', { subject, body })
    return `there: draft ${subject}`
  }
  const { id, subject } = random.pick(drafts)
  if (random.chance(0.8)) {
    await client.ask('PATCH', `messages/${id}`, { body })
    return `there: edit ${subject}: ${body.content}`
  }
  await removeForGood(acting, id)
  return `there: drop ${subject}`
}

async function changeFolders({ client, random, next }: ActingThere): Promise<string> {
  const folders = await readFolders(client)
  const own = folders.filter(({ path }) => /(?:Made|Named) \d+$/.test(path))
  const displayName = `Made ${next()}`
  const kind = random.between(0, 9)
  if ((kind < 4 || own.length === 0) && folders.length < FOLDERS_MAX) {
    const parent = random.pick<TrueFolder | null>([null, ...own.filter(({ depth }) => depth < DEPTH_MAX)])
    const list = parent === null ? 'mailFolders' : `mailFolders/${parent.id}/childFolders`
    await client.ask('POST', list, { displayName })
    return `there: create ${displayName} in ${parent?.path ?? 'the root'}`
  }
  if (own.length === 0) return 'there: nothing'
  const { id, path } = random.pick(own)
  if (kind < 6) {
    await client.ask('PATCH', `mailFolders/${id}`, { displayName })
    return `there: rename ${path} to ${displayName}`
  }
  if (kind < 8) {
    const target = random.pick<Pick<TrueFolder, 'id' | 'path'>>([
      { id: 'msgfolderroot', path: 'the root' },
      ...own,
    ])
    await client.ask('POST', `mailFolders/${id}/move`, { destinationId: target.id })
    return `there: move ${path} to ${target.path}`
  }
  await client.ask('DELETE', `mailFolders/${id}`)
  return `there: delete ${path}`
}
