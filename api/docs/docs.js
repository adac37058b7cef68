// Shows the document with Swagger UI. A key that is entered stays in the memory
// of the page: it is gone with the next load.
SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#document",
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  defaultModelExpandDepth: 3,
  displayRequestDuration: true,
  persistAuthorization: false,
  showExtensions: true,
  tryItOutEnabled: true,
  validatorUrl: null,
});
