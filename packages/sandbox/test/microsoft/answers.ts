import type {
  EventMessageRequest,
  FileAttachment,
  ItemAttachment,
  MailFolder,
  MailSearchFolder,
  Message,
  OutlookCategory,
  ReferenceAttachment,
  Subscription,
  UploadSession,
} from '@microsoft/microsoft-graph-types'

/** The answers of the API, in the types that Microsoft publishes. */
export interface Answers {
  category: OutlookCategory
  fileAttachment: FileAttachment
  eventMessageRequest: EventMessageRequest
  itemAttachment: ItemAttachment
  folder: MailFolder
  message: Message
  referenceAttachment: ReferenceAttachment
  searchFolder: MailSearchFolder
  subscription: Subscription
  uploadSession: UploadSession
}
