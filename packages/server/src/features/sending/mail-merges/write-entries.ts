import { setImmediate as nextTurn } from 'node:timers/promises'
import { newId } from '../../../kit/ids.ts'
import { composeWith, type ComposedInParts, type PlannedComposition } from '../compose/compose.ts'
import type { ContentFailure, RenderedContent } from '../compose/render-content.ts'
import type { Params, Rcpt } from '../templates/rules.ts'
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
import type { SendTracker } from '../tracking/track-send.ts'
import { type EntryError, type PlannedEntry, renderError } from './rules.ts'

/** Messages that are rendered and written before others get a turn. */
const BATCH_ENTRIES = 20
/** Others get a turn earlier if the messages take this long. */
const TURN_MS_MAX = 20
/** Contents that wait in memory for the transaction that accepts them. What is more is written before. */
const HELD_BYTES_MAX = 8 * 1024 * 1024

/** Time that the template of a merge may take for all its entries. */
const RENDER_MS_MAX = 60_000

/** What all messages of a merge have in common. */
export interface Merge {
  id: string
  listId: string | null
  templateId: string | null
  undoSendSeconds: number
  composition: Omit<PlannedComposition, 'to' | 'attachments'>
  files: PreparedFiles
  /** The recipient of an entry as a template names it, who can leave the list; null without a list. */
  recipientOf(entry: NewEntry): Rcpt | null
  trackerOf(entry: NewEntry): SendTracker
  /** Null if all entries have the content of the composition. */
  render: ((entries: RenderedEntry[]) => Promise<Array<RenderedContent | ContentFailure>>) | null
}

type RenderedEntry = { params?: Params | undefined; rcpt?: Rcpt | undefined }

/** A message that an entry becomes. */
export type NewEntry = PlannedEntry & { outboxId: string }

/** The messages of a merge whose contents are written, but not yet bound to entries. */
export class WrittenEntries {
  readonly sends: Array<WrittenSend & { index: number }> = []
  readonly #tails = new Map<string, WrittenTail>()
  readonly #merge: Merge
  readonly #target: ContentTarget
  #held: WrittenContent[] = []
  #heldBytes = 0
  #renderMs = 0

  constructor(merge: Merge, target: ContentTarget) {
    this.#merge = merge
    this.#target = target
  }

  /** Writes the messages of entries, and yields to others in between. @returns why some have none, by index */
  async write(entries: readonly PlannedEntry[]): Promise<Map<number, EntryError>> {
    const errors = new Map<number, EntryError>()
    for (let at = 0; at < entries.length; at += BATCH_ENTRIES) {
      await nextTurn()
      const batch = entries.slice(at, at + BATCH_ENTRIES).map(entry => {
        const named = { ...entry, outboxId: newId() }
        return { ...named, rcpt: this.#merge.recipientOf(named) ?? undefined }
      })
      const contents = await this.#render(batch)
      let begunAt = performance.now()
      for (const [nth, content] of contents.entries()) {
        if (performance.now() - begunAt > TURN_MS_MAX) {
          await nextTurn()
          begunAt = performance.now()
        }
        const entry = batch[nth]!
        if ('reason' in content) errors.set(entry.index, content)
        else await this.#writeEntry(entry, content)
      }
    }
    return errors
  }

  async #render(
    batch: ReadonlyArray<NewEntry & RenderedEntry>,
  ): Promise<Array<RenderedContent | EntryError>> {
    const { render, composition } = this.#merge
    if (!render) return batch.map(() => composition)
    if (this.#renderMs > RENDER_MS_MAX)
      return batch.map(() => ({
        reason: 'template_render_failed',
        message: `The template took over ${RENDER_MS_MAX / 1000} seconds for the entries before.`,
      }))
    const begunAt = performance.now()
    const results = await render(batch.map(({ params, rcpt }) => ({ params, rcpt })))
    this.#renderMs += performance.now() - begunAt
    return results.map(result => ('failure' in result ? renderError(result) : result))
  }

  async #writeEntry(entry: NewEntry & RenderedEntry, content: RenderedContent): Promise<void> {
    const { index, to, reference, sendAt, outboxId: id } = entry
    const { composition, files, listId, templateId } = this.#merge
    const tracker = this.#merge.trackerOf(entry)
    const internetMessageId = newInternetMessageId(id, composition.from.address)
    const subject = content.subject ?? ''
    const composed = composeWith(
      {
        ...composition,
        ...content,
        subject,
        to: [to],
        internetMessageId,
        outboxId: id,
        unsubscribeUrl: entry.rcpt?.unsubscribeUrl ?? null,
        wireHtml: tracker.wireHtml,
        draftMark: null,
        // Replaced by the time of the first attempt.
        date: new Date(),
      },
      files,
    )
    const written = await this.#writeContent(composed)
    this.sends.push({
      index,
      id,
      internetMessageId,
      from: composition.from,
      to: [to],
      cc: [],
      bcc: [],
      replyTo: composition.replyTo,
      subject,
      importance: composition.importance,
      inReplyTo: null,
      threadId: null,
      forwardOf: null,
      draftId: null,
      templateId,
      listId,
      mailMergeId: this.#merge.id,
      tracking: tracker.result(),
      options: { sendAt, reference, undoSendSeconds: this.#merge.undoSendSeconds },
      ...describe(composed, written),
      content: written,
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
