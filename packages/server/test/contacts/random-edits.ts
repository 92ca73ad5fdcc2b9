import type { Contact } from '@waxwing/contract/contacts/contacts.ts'
import { expect } from 'vitest'
import type { Answer, Caller } from '../caller.ts'
import type { Random } from '../seeded.ts'
import type { FeedEvent } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'
import { readContacts } from './carddav-account.ts'
import type { OtherContacts } from './other-contacts.ts'

const ACTS = 30
/** A kill comes at most this long after a request of the interface began. */
const KILL_MS_MAX = 60
/** Answers after which a client asks again. */
const UNCLEAR = new Set([429, 502, 503])

/** The changes of one contact by all clients. A display name is `c3 v2`: of content 3, the third name. */
interface Content {
  /** Display names in the order in which the other client gave them. */
  names: string[]
  /** Job titles in the order in which the interface set them. */
  titles: string[]
  isRemoved: boolean
}

/** As far as it is read here. */
interface Refusal {
  code?: string
}

interface Disturbed {
  caller: Caller
  accountId: string
  kill(): void
  kills: number
}

/**
 * Changes of contacts at random by two clients at once. The other client changes display names, the interface job titles;
 * both add and remove contacts. So neither may lose what the other one writes.
 */
export class RandomEdits {
  readonly log: string[] = []
  /** Answers that no request may get. */
  readonly failures: string[] = []
  readonly #other: OtherContacts
  readonly #random: Random
  readonly #contents = new Map<number, Content>()
  /** A contact whose creation by the interface has no answer yet: it is made again if someone removes it meanwhile. */
  #pending: number | null = null
  #made = 0

  constructor(other: OtherContacts, random: Random) {
    this.#other = other
    this.#random = random
  }

  /** Lets the other client add some contacts. */
  async furnish(count: number): Promise<void> {
    for (let nth = 0; nth < count; nth++) await this.#addByOther()
  }

  /** Lets both clients act at once, and kills the service meanwhile. */
  async disturb(disturbed: Disturbed): Promise<void> {
    const [ours, others] = [this.#random.fork('interface'), this.#random.fork('other')]
    const killAt = new Set(Array.from({ length: disturbed.kills }, () => ours.between(1, ACTS - 1)))
    const byInterface = async () => {
      for (let act = 0; act < ACTS; act++) {
        if (killAt.has(act)) setTimeout(() => disturbed.kill(), ours.between(0, KILL_MS_MAX))
        this.log.push(await this.#actByInterface(disturbed, ours))
      }
    }
    const byOther = async () => {
      for (let act = 0; act < ACTS; act++) this.log.push(await this.#actByOther(others))
    }
    await Promise.all([byInterface(), byOther()])
  }

  /** Checks that every contact has what was written last. @param lines `name, title` of each contact */
  expectKept(lines: readonly string[]): void {
    const wanted = [...this.#contents.values()].flatMap(({ names, titles, isRemoved }) =>
      isRemoved ? [] : [`${names.at(-1)}, ${titles.at(-1) ?? null}`],
    )
    expect(lines.toSorted()).toEqual(wanted.toSorted())
  }

  /** Checks that events turn the earlier contacts into the later ones, under lasting ids, and tell each change once. */
  expectTold(
    before: readonly Contact[],
    events: readonly FeedEvent[],
    after: readonly Contact[],
    accountId: string,
  ): void {
    const held = new Map(before.map(contact => [contact.id, contact]))
    const idOf = new Map(before.map(({ id, displayName }) => [contentOf(displayName), id]))
    const titles = new Map<number, Array<string | null>>()
    for (const { type, accountId: of, data } of events) {
      const { contact, changes } = data
      if (of !== accountId || !contact) continue
      const content = contentOf(contact.displayName)
      expect(idOf.get(content) ?? contact.id, `the id of c${content}`).toBe(contact.id)
      expect(held.has(contact.id), `${type} of c${content}`).toBe(type !== 'contact.created')
      idOf.set(content, contact.id)
      if (type === 'contact.updated') expect(changes).not.toEqual([])
      if (type === 'contact.deleted') held.delete(contact.id)
      else {
        held.set(contact.id, contact)
        titles.set(content, [...(titles.get(content) ?? []), contact.jobTitle])
      }
    }
    expect(inOrder([...held.values()])).toEqual(inOrder(after))
    for (const [content, { titles: asked, isRemoved }] of this.#contents) {
      // A contact may be removed before its last change was seen.
      if (isRemoved) continue
      expect(changesOf(titles.get(content) ?? []), `titles of c${content}`).toEqual(asked)
    }
  }

  #newContent(): number {
    this.#contents.set(++this.#made, { names: [`c${this.#made} v0`], titles: [], isRemoved: false })
    return this.#made
  }

  async #addByOther(): Promise<string> {
    const content = this.#newContent()
    await this.#other.add(`c${content} v0`)
    return `other: add c${content}`
  }

  async #actByOther(random: Random): Promise<string> {
    const all = (await this.#other.list()).filter(one => contentOf(one.displayName) !== this.#pending)
    const act = random.next()
    if (all.length === 0 || act < 0.2) return this.#addByOther()
    const { displayName } = random.pick(all)
    const content = contentOf(displayName)
    const { names } = this.#of(content)
    if (act > 0.85) {
      this.#of(content).isRemoved = true
      await this.#other.remove(displayName)
      return `other: remove c${content}`
    }
    const name = `c${content} v${names.length}`
    if (!(await this.#other.rename(displayName, name))) return `other: c${content} is gone`
    names.push(name)
    return `other: rename to ${name}`
  }

  async #actByInterface({ caller, accountId }: Disturbed, random: Random): Promise<string> {
    const path = `/v1/accounts/${accountId}/contacts`
    const act = random.next()
    if (act < 0.15) {
      await caller.post(`/v1/accounts/${accountId}/sync`, { kinds: ['contacts'] })
      return 'interface: sync'
    }
    if (act < 0.35) return this.#create(caller, accountId)
    const contacts = await readContacts(caller, accountId)
    if (contacts.length === 0) return 'interface: nothing'
    const { id, displayName } = random.pick(contacts)
    const content = contentOf(displayName)
    if (act < 0.47) {
      this.#of(content).isRemoved = true
      const { status, body } = await clear(() => caller.delete(`${path}/${id}`))
      return this.#said(`delete c${content}`, status, body, [404])
    }
    const { titles } = this.#of(content)
    const jobTitle = `t${titles.length + 1}`
    const answer = await clear(() => caller.patch(`${path}/${id}`, { jobTitle }))
    if (answer.status === 200) titles.push(jobTitle)
    return this.#said(`c${content} ${jobTitle}`, answer.status, answer.body, [404, 409])
  }

  async #create(caller: Caller, accountId: string): Promise<string> {
    const content = this.#newContent()
    const headers = { 'idempotency-key': `${accountId}-${content}` }
    const body = { displayName: `c${content} v0` }
    this.#pending = content
    const answer = await clear(() => caller.post(`/v1/accounts/${accountId}/contacts`, body, headers))
    this.#pending = null
    return this.#said(`create c${content}`, answer.status, answer.body, [])
  }

  #said(name: string, status: number, body: unknown, refusals: readonly number[]): string {
    const described = `interface: ${name}: ${status}`
    if (status !== 200 && !refusals.includes(status))
      this.failures.push(`${described} ${JSON.stringify(body)}`)
    return described
  }

  #of(content: number): Content {
    const found = this.#contents.get(content)
    if (!found) throw new Error(`Nobody made content ${content}`)
    return found
  }
}

function contentOf(displayName: string | null): number {
  const [, content] = /^c(\d+) v\d+$/.exec(displayName ?? '') ?? []
  if (content === undefined) throw new Error(`${displayName} is no name that was given`)
  return Number(content)
}

/** A sequence without values that repeat the one before them, and without the null before the first value. */
function changesOf(values: ReadonlyArray<string | null>): Array<string | null> {
  return values.filter((value, at) => value !== (values[at - 1] ?? null))
}

/** A change of `updatedAt` alone is no event. */
function inOrder(contacts: readonly Contact[]): Array<Partial<Contact>> {
  return contacts
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    .map(({ updatedAt: _updatedAt, ...contact }) => contact)
}

/** Sends a request until its outcome is clear, as the documentation of errors asks of a client. */
function clear(send: () => Promise<Answer<Refusal | null>>): Promise<Answer<Refusal | null>> {
  return waitUntil('a clear answer', async () => {
    const answer = await send()
    const isUnderWay = answer.body?.code === 'idempotency_key_in_progress'
    return UNCLEAR.has(answer.status) || isUnderWay ? null : answer
  })
}
