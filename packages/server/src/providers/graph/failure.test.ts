import { expect, test } from 'vitest'
import { graphFailure, LinkExpired } from './failure.ts'

const answer = (status: number, code = '', headers: Record<string, string> = {}) => ({
  status,
  headers,
  content: Buffer.from(code === '' ? 'no JSON' : JSON.stringify({ error: { code, message: 'Text.' } })),
})

test.each([
  [429, '', 'throttled'],
  [429, 'ApplicationThrottled', 'throttled'],
  [503, 'ErrorServerBusy', 'throttled'],
  [509, '', 'throttled'],
  [503, 'ServiceUnavailable', 'unavailable'],
  [500, 'InternalServerError', 'unavailable'],
  [504, '', 'unavailable'],
  [200, '', 'unavailable'],
  [302, '', 'unavailable'],
  [404, 'ErrorItemNotFound', 'not_found'],
  [404, 'errorItemNotFound', 'not_found'],
  [404, 'MailboxNotEnabledForRESTAPI', 'mailbox_gone'],
  [404, 'Request_ResourceNotFound', 'mailbox_gone'],
  [404, 'ErrorNonExistentMailbox', 'mailbox_gone'],
  [403, 'ErrorAccessDenied', 'forbidden'],
  [409, 'ErrorFolderExists', 'conflict'],
  [412, 'ErrorIrresolvableConflict', 'conflict'],
  [400, 'RequestBroker--ParseUri', 'rejected'],
  [413, '', 'rejected'],
  [416, 'ErrorInvalidRange', 'conflict'],
  [501, 'NotImplemented', 'unsupported'],
])('takes %i %s for %s', (status, code, kind) => {
  expect(graphFailure(answer(status, code), 0).kind).toBe(kind)
})

test.each([
  [410, 'SyncStateNotFound'],
  [410, 'resyncRequired'],
  [410, ''],
  [400, 'SyncStateInvalid'],
])('takes %i %s for a link that has expired', (status, code) => {
  expect(graphFailure(answer(status, code), 0)).toBeInstanceOf(LinkExpired)
})

test('names the code and the pause', () => {
  const failure = graphFailure(answer(503, 'ServiceUnavailable', { 'retry-after': '9' }), 0, true)
  expect(failure.retryAfterSeconds).toBe(9)
  expect(failure.message).toBe('Microsoft Graph answered 503: ServiceUnavailable: Text.')
})

test.each([
  [200, '', false],
  [302, '', false],
  [400, 'ErrorInvalidRecipients', true],
  [408, '', false],
  [409, 'X', true],
  [429, 'ApplicationThrottled', true],
  [500, '', false],
  [501, '', false],
  [503, 'ServiceUnavailable', false],
  [503, 'ErrorServerBusy', false],
  [504, 'ErrorItemNotFound', false],
  [509, '', false],
])('takes %i %s to a write for proof that nothing was done: %s', (status, code, isProof) => {
  expect(graphFailure(answer(status, code), 0, true).isBeforeAcceptance).toBe(isProof)
  expect(graphFailure(answer(status, code), 0).isBeforeAcceptance).toBe(true)
})
