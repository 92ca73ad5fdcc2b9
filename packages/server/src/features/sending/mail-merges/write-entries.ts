import { setImmediate as nextTurn } from 'node:timers/promises'
import { newId } from '../../../kit/ids.ts'
import { composeWith, type ComposedInParts, type PlannedComposition } from '../compose/compose.ts'
import type { PreparedFiles } from '../compose/prepare-files.ts'
import { newInternetMessageId } from '../compose/rules.ts'
import { describe, refuseContent } from '../outbox/accept.ts'
import { removeContent } from '../outbox/content.ts'
import type { WrittenSend } from '../outbox/insert-sends.ts'
import {
  type ContentTarget,
  type WrittenContent,
  type WrittenTail,
  writeContent,
  writeDown,
  writeTail,
} from '../outbox/write-content.ts'
import { UNTRACKED } from '../tracking/track-send.ts'
import type { PlannedEntry } from './rules.ts'

/** Messages that are rendered and written before others get a turn. */
const BATCH_ENTRIES = 20
/** Contents that wait in memory for the transaction that accepts them. What is more is written before. */
const HELD_BYTES_MAX = 8 * 1024 * 1024

/** What all messages of a merge have in common. */
export interface Merge {
  id: string
  composition: Omit<PlannedComposition, 'to' | 'attachments'>
  files: PreparedFiles
}

/** The messages of a merge whose contents are written, but not yet bound to entries. */
export class WrittenEntries {
  readonly sends: Array<WrittenSend & { index: number }> = []
  readonly #tails = new Map<string, WrittenTail>()
  readonly #merge: Merge
  readonly #target: ContentTarget
  #held: WrittenContent[] = []
  #heldBytes = 0

  constructor(merge: Merge, target: ContentTarget) {
    this.#merge = merge
    this.#target = target
  }

  /** Writes the messages of entries, and yields to others in between. */
  async write(entries: readonly PlannedEntry[]): Promise<void> {
    for (const [nth, entry] of entries.entries()) {
      if (nth % BATCH_ENTRIES === 0) await nextTurn()
      await this.#writeEntry(entry)
    }
  }

  async #writeEntry({ index, to, reference, sendAt }: PlannedEntry): Promise<void> {
    const { composition, files } = this.#merge
    const id = newId()
    const internetMessageId = newInternetMessageId(id, composition.from.address)
    // The date is replaced by the time of the first attempt.
    const own = {
      to: [to],
      internetMessageId,
      outboxId: id,
      unsubscribeUrl: null,
      draftMark: null,
      wireHtml: null,
    }
    const composed = composeWith({ ...composition, ...own, date: new Date() }, files)
    const content = await this.#writeContent(composed)
    this.sends.push({
      index,
      id,
      internetMessageId,
      from: composition.from,
      to: [to],
      cc: [],
      bcc: [],
      replyTo: composition.replyTo,
      subject: composition.subject,
      importance: composition.importance,
      inReplyTo: null,
      threadId: null,
      forwardOf: null,
      draftId: null,
      templateId: null,
      listId: null,
      mailMergeId: this.#merge.id,
      tracking: UNTRACKED,
      options: { sendAt, reference, undoSendSeconds: 0 },
      ...describe(composed, content),
      content,
    })
  }

  async #writeContent({ head, tail, ...whole }: ComposedInParts): Promise<WrittenContent> {
    const end = tail && (this.#tails.get(tail.of) ?? (await this.#writeTail(tail)))
    const content = await writeContent(end ? head : whole, this.#target, end).catch(refuseContent)
    this.#held.push(content)
    this.#heldBytes += content.piece?.length ?? 0
    if (this.#heldBytes > HELD_BYTES_MAX) {
      await writeDown(
        this.#held.filter(({ piece }) => piece !== null),
        this.#target,
      )
      this.#held = []
      this.#heldBytes = 0
    }
    return content
  }

  async #writeTail({ of, open }: NonNullable<ComposedInParts['tail']>): Promise<WrittenTail> {
    const written = await writeTail(open, this.#target).catch(refuseContent)
    this.#tails.set(of, written)
    return written
  }

  /** Ids of what is written down, and stays unless it is bound or removed, of all entries but these. */
  unboundBut(outboxIds: ReadonlySet<string>): string[] {
    const unbound = this.sends.filter(({ id }) => !outboxIds.has(id))
    const used = new Set(
      this.sends.flatMap(({ id, content }) => (outboxIds.has(id) ? [content.tail?.id] : [])),
    )
    const tails = [...this.#tails.values()].filter(({ id }) => !used.has(id))
    return [
      ...unbound.flatMap(({ content }) => (content.piece === null ? [content.id] : [])),
      ...tails.map(({ id }) => id),
    ]
  }

  /** Removes everything again. */
  async discard(): Promise<void> {
    const ids = this.unboundBut(new Set())
    if (ids.length > 0) await this.#target.step(unit => removeContent(unit, ids)).catch(() => {})
  }
}
