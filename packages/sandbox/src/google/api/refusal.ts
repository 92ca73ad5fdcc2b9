import { apiError, type ApiError, errorInfo } from '../errors.ts'

/** An error that an API of Google answers. */
export class Refusal extends Error {
  readonly error: ApiError

  constructor(error: ApiError) {
    super(error.message)
    this.error = error
  }

  response(): Response {
    return apiError(this.error)
  }
}

export const notFound = (message = 'Requested entity was not found.'): Refusal =>
  new Refusal({ code: 404, status: 'NOT_FOUND', message, reason: 'notFound' })

export const invalidArgument = (message: string): Refusal =>
  new Refusal({ code: 400, status: 'INVALID_ARGUMENT', message, reason: 'invalidArgument' })

export const failedPrecondition = (message: string): Refusal =>
  new Refusal({ code: 400, status: 'FAILED_PRECONDITION', message, reason: 'failedPrecondition' })

export const forbidden = (message: string): Refusal =>
  new Refusal({ code: 403, status: 'PERMISSION_DENIED', message, reason: 'forbidden' })

export const conflict = (message: string): Refusal =>
  new Refusal({ code: 409, status: 'ABORTED', message, reason: 'aborted' })

export const tooLarge = (message: string): Refusal =>
  new Refusal({ code: 413, status: 'INVALID_ARGUMENT', message, reason: 'uploadTooLarge' })

/** A parameter of the query that has no such name or value. */
export const invalidParameter = (name: string, message: string): Refusal =>
  new Refusal({
    code: 400,
    status: 'INVALID_ARGUMENT',
    message,
    reason: 'invalidParameter',
    location: name,
    locationType: 'parameter',
  })

/** The refusal of an API that the project of the client has not switched on. */
export const disabledApi = (title: string, service: string): Refusal =>
  new Refusal({
    code: 403,
    status: 'PERMISSION_DENIED',
    message: `${title} API has not been used in project 1 before or it is disabled. Enable it by visiting https://console.developers.google.com/apis/api/${service}/overview?project=1 then retry.`,
    domain: 'usageLimits',
    reason: 'accessNotConfigured',
    details: [errorInfo('SERVICE_DISABLED', service)],
  })
