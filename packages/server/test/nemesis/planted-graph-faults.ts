import type { PlantedFault } from './planted-faults.ts'
import { sampleMessage } from './sample-evidence.ts'

/** Promises about accounts of Microsoft Graph that are broken, one each, with its report. */
export const PLANTED_AT_GRAPH: PlantedFault[] = [
  [
    'I3',
    'a send that Graph accepted twice, since the answer to the first one was lost',
    ({ end }) => void end.accepted.push({ messageId: '<send-3>', by: 'Microsoft Graph' }),
    /Microsoft Graph accepted the send send-3 2 times/,
  ],
  [
    'I3',
    'a send that left by two ways',
    ({ end }) => void end.accepted.push({ messageId: '<send-3>', by: 'the SMTP server' }),
    /Microsoft Graph and the SMTP server accepted the send send-3 2 times/,
  ],
  [
    'I4',
    'a send that Graph has only as a draft',
    ({ end }) => void end.accepted.pop(),
    /send-3 is sent, and no provider accepted it/,
  ],
  [
    'I4',
    'a send that failed although Graph accepted it',
    ({ end }) => Object.assign(end.outbox[2]!, { status: 'failed', reason: 'provider_unavailable' }),
    /send-3 is failed \(provider_unavailable\), and Microsoft Graph accepted it/,
  ],
  [
    'I5',
    'a draft of a send that was left at Graph',
    ({ end }) => void end.mailboxes[1]!.truth.push('Drafts: key-3 \\Seen'),
    /account-3: the index lacks “Drafts: key-3 \\Seen”/,
  ],
  [
    'I6',
    'a message that was moved at Graph and never announced',
    ({ end }) => void end.mailboxes[1]!.after.messages.set('m1', sampleMessage('m1', { mailboxIds: ['b2'] })),
    /account-3: the feed has other values of mailboxIds of message m1/,
  ],
]
