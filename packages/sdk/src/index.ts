export { type Answered, Call, type Download, List, type Page } from './call.ts'
export { Waxwing } from './client.ts'
export {
  BadRequestError,
  type ClientCode,
  ConflictError,
  ConnectionError,
  ForbiddenError,
  isReason,
  NotFoundError,
  type Outcome,
  RateLimitedError,
  ServiceError,
  UnauthenticatedError,
  WaxwingError,
} from './errors.ts'
export { type AnyEvent, type EventOf, isEvent } from './events.ts'
export type { Feed, FollowInput, Position, StreamInput } from './feed.ts'
export {
  attachment,
  type AttachedFile,
  type AttachmentOptions,
  type AttachmentSource,
} from './attachments.ts'
export { itemTexts } from './item-texts.ts'
export type { CallOptions, ConditionalOptions, PostOptions, WaxwingOptions } from './options.ts'
export type * from './types.ts'
