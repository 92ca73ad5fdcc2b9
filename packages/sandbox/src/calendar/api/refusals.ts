import { Refusal } from '../../google/api/refusal.ts'

const BAD = { code: 400, status: 'INVALID_ARGUMENT' }

export const notFound = (): Refusal =>
  new Refusal({ code: 404, status: 'NOT_FOUND', message: 'Not Found', reason: 'notFound' })

export const invalid = (message: string): Refusal => new Refusal({ ...BAD, message, reason: 'invalid' })

export const required = (message: string): Refusal => new Refusal({ ...BAD, message, reason: 'required' })

export const badRequest = (reason: string, message: string, location?: string): Refusal =>
  new Refusal({
    ...BAD,
    message,
    reason,
    domain: 'calendar',
    ...(location && { location, locationType: 'parameter' }),
  })

export const emptyRange = (): Refusal =>
  badRequest('timeRangeEmpty', 'The specified time range is empty.', 'timeMax')

export const writesForbidden = (): Refusal =>
  new Refusal({
    code: 403,
    status: 'PERMISSION_DENIED',
    message: 'You need to have writer access to this calendar.',
    domain: 'calendar',
    reason: 'requiredAccessLevel',
  })

export const notOrganizer = (): Refusal =>
  new Refusal({
    code: 403,
    status: 'PERMISSION_DENIED',
    message: 'Shared properties can only be changed by the organizer of the event.',
    domain: 'calendar',
    reason: 'forbiddenForNonOrganizer',
  })

export const exists = (): Refusal =>
  new Refusal({
    code: 409,
    status: 'ALREADY_EXISTS',
    message: 'The requested identifier already exists.',
    reason: 'duplicate',
  })

export const isDeleted = (): Refusal =>
  new Refusal({
    code: 410,
    status: 'FAILED_PRECONDITION',
    message: 'Resource has been deleted',
    reason: 'deleted',
  })

export const fullSyncRequired = (): Refusal =>
  gone('fullSyncRequired', 'syncToken', 'Sync token is no longer valid, a full sync is required.')

export const updatedMinTooLongAgo = (): Refusal =>
  gone(
    'updatedMinTooLongAgo',
    'updatedMin',
    'The requested minimum modification time lies too far in the past.',
  )

const gone = (reason: string, location: string, message: string): Refusal =>
  new Refusal({
    code: 410,
    status: 'FAILED_PRECONDITION',
    message,
    domain: 'calendar',
    reason,
    location,
    locationType: 'parameter',
  })

export const conditionNotMet = (): Refusal =>
  new Refusal({
    code: 412,
    status: 'FAILED_PRECONDITION',
    message: 'Precondition Failed',
    reason: 'conditionNotMet',
    location: 'If-Match',
    locationType: 'header',
  })
