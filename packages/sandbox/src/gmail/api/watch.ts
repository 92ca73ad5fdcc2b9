import { presentId } from '../mailbox/history.ts'
import type { Watch } from '../pushes.ts'
import { stringIn, stringsIn } from '../../google/api/input.ts'
import { requireLabels } from './input.ts'
import { METADATA_READERS, type GmailMethod, type MethodCall } from './method.ts'
import { failedPrecondition, invalidArgument, notFound } from '../../google/api/refusal.ts'
import { SHAPES } from './shapes.ts'

const LIFETIME_MS = 7 * 24 * 3600 * 1000

export const watchMethods: readonly GmailMethod[] = [
  {
    id: 'watch',
    http: 'POST',
    path: 'watch',
    scopes: METADATA_READERS,
    body: SHAPES.watch,
    answer: SHAPES.watched,
    run: watch,
  },
  { id: 'stop', http: 'POST', path: 'stop', scopes: METADATA_READERS, run: stop },
]

/** Begins, or renews, the notices of a mailbox. Each client can have one topic. */
function watch(call: MethodCall): object {
  const { mailbox, gmail, body } = call
  const topic = stringIn(body, 'topicName') ?? ''
  const [, name = ''] = /^projects\/[^/]+\/topics\/([^/]+)$/.exec(topic) ?? []
  if (name === '') throw invalidArgument(`Invalid topicName does not match projects/*/topics/*`)
  const labelIds = stringsIn(body, 'labelIds')
  requireLabels(mailbox, labelIds)
  if (!gmail.pushes.hasTopic(topic))
    throw notFound(
      `Error sending test message to Cloud PubSub ${topic} : Resource not found (resource=${name}).`,
    )
  const watches = gmail.pushes.watchesOf(mailbox)
  const client = clientOf(call)
  const known = watches.get(client)
  if (known && known.topic !== topic && known.expiresAt > mailbox.now())
    throw failedPrecondition(
      'Only one user push notification client allowed per developer (call /stop then try again)',
    )
  const excludes = [stringIn(body, 'labelFilterBehavior'), stringIn(body, 'labelFilterAction')].includes(
    'exclude',
  )
  const renewed: Watch = Object.assign(known ?? {}, {
    topic,
    labelIds,
    excludes,
    expiresAt: mailbox.now() + LIFETIME_MS,
  })
  watches.set(client, renewed)
  gmail.pushes.send(mailbox, renewed)
  return { historyId: presentId(mailbox.history), expiration: String(renewed.expiresAt) }
}

function stop(call: MethodCall): void {
  call.gmail.pushes.watchesOf(call.mailbox).delete(clientOf(call))
}

const clientOf = ({ caller }: MethodCall): string => caller.client?.clientId ?? 'service-account'
