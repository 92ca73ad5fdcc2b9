import type {
  EventMessageRequest,
  FileAttachment,
  ItemAttachment,
  MailFolder,
  MailSearchFolder,
  Message,
  OutlookCategory,
} from '@microsoft/microsoft-graph-types'

/** The answers of the API, in the types that Microsoft publishes. */
export interface Answers {
  category: OutlookCategory
  fileAttachment: FileAttachment
  eventMessageRequest: EventMessageRequest
  itemAttachment: ItemAttachment
  folder: MailFolder
  message: Message
  searchFolder: MailSearchFolder
}
