import type {
  AddedMessage,
  DraftOutcome,
  DraftRemoval,
  DraftReplacement,
  FoundMessage,
  KnownDraft,
  NewDraft,
  NewMessage,
} from '../../changing.ts'
import { DRAFT_FIELD, readDraftMark } from '../../draft-mark.ts'
import { ProviderFailure } from '../../failure.ts'
import type { RemoteMessage } from '../../mail.ts'
import { type GmailApi, segment } from '../api.ts'
import { listDraftKeys } from '../draft-keys.ts'
import { MESSAGE_FIELDS, toRemoteMessage } from '../message.ts'
import {
  draftRefSchema,
  draftSchema,
  draftsSchema,
  emptySchema,
  type Message,
  messageSchema,
} from '../resources.ts'
import { UNITS } from '../units.ts'
import { uploadToThread } from '../upload.ts'
import { readLabels } from './account-labels.ts'
import type { Effect } from './effect.ts'
import { headerOf, queryOf, readHeaders, toFound } from './find.ts'
import { locationOf } from './messages.ts'

/** Drafts that are looked through for one which an earlier try may have added, newest first. */
const LOOKED_AT_MAX = 25
const HEADER_FIELDS = 'id,message(id,threadId,labelIds,internalDate,payload(headers))'

type DraftRef = { id: string; message: { id: string; threadId: string } }

/** `ChangingProvider.addDraft` on Gmail. */
export async function addDraft(
  api: GmailApi,
  effect: Effect,
  draft: NewDraft,
  mayExist: boolean,
): Promise<AddedMessage> {
  const found = mayExist ? await findAdded(api, draft) : null
  const ref = found ?? (await effect.run(() => write(api, { method: 'POST', path: 'drafts' }, draft.message)))
  return describe(api, ref)
}

/**
 * The draft that an earlier try added. The search may not find it yet, or not by its Message-ID, so the newest drafts
 * are looked through as well.
 */
async function findAdded(api: GmailApi, { message, mark }: NewDraft): Promise<DraftRef | null> {
  const query = queryOf(message.internetMessageId)
  for (const q of query === null ? [undefined] : [query, undefined]) {
    const { drafts } = await api.ask({
      path: 'drafts',
      query: { q, maxResults: LOOKED_AT_MAX },
      units: UNITS.draftsList,
      schema: draftsSchema,
    })
    const read = await readHeaders(
      api,
      drafts.map(draft => draft.message.id),
    )
    const same = read.find(header => {
      const found = readDraftMark(headerOf(header, DRAFT_FIELD))
      return found?.draftId === mark.draftId && found.generation === mark.generation
    })
    const ref = same && drafts.find(draft => draft.message.id === same.id)
    if (ref) return ref
  }
  return null
}

/** `ChangingProvider.replaceDraft` on Gmail, where a draft has one content, which is replaced in place. */
export async function replaceDraft(
  api: GmailApi,
  effect: Effect,
  draft: DraftReplacement,
): Promise<DraftOutcome> {
  const id = await findDraftKey(api, draft)
  if (id === null) throw new ProviderFailure('not_found', 'Gmail no longer has the draft.')
  const to = { method: 'PUT', path: `drafts/${segment(id)}` } as const
  const ref = await effect.run(() => write(api, to, draft.message))
  return { type: 'replaced', added: await describe(api, ref), isSettled: true }
}

/** `ChangingProvider.findDraft` on Gmail. */
export async function findDraft(
  api: GmailApi,
  draft: KnownDraft,
  fields: readonly string[],
): Promise<FoundMessage[]> {
  const id = await findDraftKey(api, draft)
  if (id === null) return []
  const found = await unlessGone(
    api.ask({
      path: `drafts/${segment(id)}`,
      query: { format: 'metadata', fields: HEADER_FIELDS },
      units: UNITS.draftsGet,
      schema: draftSchema,
    }),
  )
  return found === null ? [] : [toFound(found.message, fields)]
}

/** `ChangingProvider.removeDraft` on Gmail. */
export async function removeDraft(api: GmailApi, effect: Effect, draft: DraftRemoval): Promise<void> {
  const id = await findDraftKey(api, draft)
  if (id === null) return
  await unlessGone(
    effect.ask({
      method: 'DELETE',
      path: `drafts/${segment(id)}`,
      units: UNITS.draftsDelete,
      schema: emptySchema,
    }),
  )
}

/** Adds or replaces a draft. A draft whose thread is gone gets another. */
function write(
  api: GmailApi,
  to: { method: 'POST' | 'PUT'; path: string },
  message: NewMessage,
): Promise<DraftRef> {
  return uploadToThread(api, message.threadId, threadId => ({
    ...to,
    metadata: { message: threadId === null ? {} : { threadId } },
    content: message,
    units: to.method === 'PUT' ? UNITS.draftsUpdate : UNITS.draftsCreate,
    schema: draftRefSchema,
  }))
}

/**
 * Describes the message that Gmail has made of the written one; `message` is null if the draft has other content by
 * now, or cannot be read.
 */
async function describe(api: GmailApi, { id, message: ref }: DraftRef): Promise<AddedMessage> {
  const location = locationOf(ref.id)
  const message = await readMessage(api, ref.id, id).catch((error: unknown) => {
    if (error instanceof ProviderFailure) return null
    throw error
  })
  return {
    location,
    mailboxKeys: message?.mailboxKeys ?? ['DRAFT'],
    draftKey: id,
    threadId: message?.threadId ?? ref.threadId,
    message,
  }
}

async function readMessage(api: GmailApi, key: string, draftKey: string): Promise<RemoteMessage> {
  const [labels, message] = await Promise.all([
    readLabels(api),
    api.ask<Message>({
      path: `messages/${segment(key)}`,
      query: { format: 'full', fields: MESSAGE_FIELDS },
      units: UNITS.messagesGet,
      schema: messageSchema,
    }),
  ])
  return toRemoteMessage(message, {
    ignoredLabels: labels.ignored,
    draftKeys: new Map([[message.id, draftKey]]),
  })
}

/** The id of a draft, which is searched for if the index has only its content. */
async function findDraftKey(
  api: GmailApi,
  { draftKey, former }: Pick<KnownDraft, 'draftKey' | 'former'>,
): Promise<string | null> {
  if (draftKey !== null || former === null) return draftKey
  const { keys } = await listDraftKeys(api)
  return keys.get(String(former.key)) ?? null
}

async function unlessGone<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof ProviderFailure && error.kind === 'not_found') return null
    throw error
  }
}
